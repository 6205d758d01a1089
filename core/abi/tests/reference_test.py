# SPDX-License-Identifier: Apache-2.0
"""The reference page says what the headers say."""

import pathlib
import re

from core.abi import reference

ABI = pathlib.Path("core/abi")

HEADER = """\
/* SPDX-License-Identifier: Apache-2.0
 *
 * Doors of a house.
 *
 * Rules
 *   - A door is open
 *     or closed.
 */
#ifndef DIPU_HOUSE_H_
#define DIPU_HOUSE_H_

#include "core/abi/base.h"

/* Packs two numbers. */
#define DIPU_PACK(a, b) \\
  ((a) << 16 | (b))
#define DIPU_FIRST(x) ((x) >> 16)

#define DIPU_DOORS 4 /* all of them */

/* Opaque. */
typedef struct dipu_door dipu_door;

/* How a door stands. */
typedef int32_t dipu_state;
enum {
  DIPU_OPEN = 0, /* wide */
  /* Not wide
   * at all. */
  DIPU_CLOSED = 1
};

/* What one can do. */
typedef struct dipu_door_api {
  size_t struct_size;
  uint32_t version; /* DIPU_DOOR_API_VERSION */
  /* Opens; then waits. */
  dipu_error* (*open)(dipu_door* door,
                      int32_t wide);
  char name[8];
} dipu_door_api;

#endif
"""

PAGE = """
## door.h

Doors of a house.

Rules
  - A door is open or closed.

### `DIPU_PACK`, `DIPU_FIRST`

```c
#define DIPU_PACK(a, b) ((a) << 16 | (b))
#define DIPU_FIRST(x) ((x) >> 16)
```

Packs two numbers.

### `DIPU_DOORS`

```c
#define DIPU_DOORS 4
```

all of them

### `dipu_door`

```c
typedef struct dipu_door dipu_door;
```

Opaque.

### `dipu_state`

How a door stands.

- `DIPU_OPEN = 0`: wide
- `DIPU_CLOSED = 1`: Not wide at all.

### `dipu_door_api`

What one can do.

- `size_t struct_size`
- `uint32_t version`: DIPU_DOOR_API_VERSION
- `dipu_error* (*open)(dipu_door* door, int32_t wide)`: Opens; then waits.
- `char name[8]`
"""


def test_page_is_current() -> None:
    page = pathlib.Path("docs/abi_reference.md").read_text()
    assert page == reference.page(ABI), "run: ./bazelw run //core/abi:reference"
    assert page == (ABI / "abi_reference.md").read_text(), "the rule says the same"


def test_a_header_becomes_a_section() -> None:
    page = reference.render([reference.parse("door.h", HEADER)])
    assert page.endswith(PAGE), page


def test_every_header_and_field_is_there() -> None:
    assert sorted(reference.HEADERS) == sorted(p.name for p in ABI.glob("*.h"))
    page = reference.page(ABI)
    for path in ABI.glob("*.h"):
        code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        for name in re.findall(
            r"\(\*(\w+)\)\(|\b(\w+)(?:\[\d+\])?;|(DIPU_\w+) =", code
        ):
            assert re.search(rf"\b{''.join(name)}\b", page), (path, name)

// SPDX-License-Identifier: Apache-2.0
//
// A plug-in with one mistake, PLANT_<NAME>, that vendor_exports_test must find.
#define EXPORT __attribute__((visibility("default")))

#ifdef PLANT_C_EXPORT
extern "C" EXPORT int sdk_helper() { return 1; }
#endif

#ifdef PLANT_CXX_EXPORT
namespace sdk {
EXPORT int helper() { return 1; }
}  // namespace sdk
#endif

#ifdef PLANT_UNIQUE_EXPORT
// One copy for the whole process, whatever library it came from.
template <typename T>
struct Registry {
  static int entries;
};
template <typename T>
EXPORT int Registry<T>::entries = 0;
int* entries() { return &Registry<int>::entries; }
#endif

#ifdef PLANT_TORCH_SYMBOL
namespace c10 {
int deviceCount();
}
const int count = c10::deviceCount();
#endif

#ifdef PLANT_PYTHON_SYMBOL
extern "C" __attribute__((weak)) int Py_IsInitialized();
const bool in_python = Py_IsInitialized != nullptr && Py_IsInitialized() != 0;
#endif

#ifdef PLANT_TORCH_LIBRARY
extern "C" int planted_torch();
const int from_torch = planted_torch();
#endif

extern "C" EXPORT const void* dipu_vendor_query(unsigned) { return nullptr; }

// SPDX-License-Identifier: Apache-2.0
#include "core/distributed/tensor_checks.h"

#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>

namespace dipu::distributed {

at::Tensor& single(std::vector<at::Tensor>& tensors, const char* name) {
  TORCH_CHECK_VALUE(tensors.size() == 1, name,
                    " takes one tensor per rank, not ", tensors.size());
  return tensors[0];
}

std::vector<at::Tensor>& singleList(std::vector<std::vector<at::Tensor>>& lists,
                                    int size, const char* name) {
  TORCH_CHECK_VALUE(
      lists.size() == 1 && lists[0].size() == static_cast<std::size_t>(size),
      name, " takes one list of ", size,
      " tensors, one for each rank, but got ", lists.size(),
      " lists, the first of ", lists.empty() ? 0 : lists[0].size());
  return lists[0];
}

void checkRoot(int64_t root, int size, const char* name) {
  TORCH_CHECK_VALUE(root >= 0 && root < size, "the root of ", name, ", rank ",
                    root, ", is not in a group of ", size);
}

void checkSameType(const at::Tensor& one, const at::Tensor& other,
                   const char* name) {
  TORCH_CHECK_TYPE(one.scalar_type() == other.scalar_type(), name,
                   " needs tensors of one type, but got ", one.scalar_type(),
                   " and ", other.scalar_type());
}

void checkTotal(const at::Tensor& large, const at::Tensor& small, int size,
                const char* name) {
  checkSameType(large, small, name);
  TORCH_CHECK_VALUE(large.numel() == size * small.numel(), name, " of ", size,
                    " ranks needs ", size,
                    " times as many elements on one side as on the other, but "
                    "got tensors of ",
                    large.sizes(), " and ", small.sizes());
}

void checkSame(const at::Tensor& one, const at::Tensor& other,
               const char* name) {
  checkSameType(one, other, name);
  TORCH_CHECK_VALUE(one.numel() == other.numel(), name,
                    " needs as many elements in the output as in the input, "
                    "but got tensors of ",
                    one.sizes(), " and ", other.sizes());
}

void checkSameLength(std::size_t outputs, std::size_t inputs,
                     const char* name) {
  TORCH_CHECK_VALUE(outputs == inputs && outputs > 0, name,
                    " needs as many outputs as inputs, and one at least, but "
                    "got ",
                    outputs, " and ", inputs);
}

bool haveEqualSizes(const std::vector<at::Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const at::Tensor& tensor) {
                       return tensor.numel() == tensors[0].numel();
                     });
}

std::vector<int64_t> elementCounts(const std::vector<int64_t>& counts,
                                   const at::Tensor& tensor, int size,
                                   const char* name) {
  const int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  const int64_t row = rows == 0 ? 0 : tensor.numel() / rows;
  if (counts.empty()) {
    TORCH_CHECK_VALUE(rows % size == 0, name, " without split sizes cuts ",
                      rows, " rows of a tensor of ", tensor.sizes(), " into ",
                      size, " parts, which is not possible; give split sizes");
    return std::vector<int64_t>(size, rows / size * row);
  }
  const int64_t total =
      std::accumulate(counts.begin(), counts.end(), int64_t{0});
  TORCH_CHECK_VALUE(
      counts.size() == static_cast<std::size_t>(size) && total == rows, name,
      " needs ", size, " split sizes that add up to ", rows,
      ", the rows of a tensor of ", tensor.sizes(), ", but got ",
      c10::IntArrayRef(counts));
  std::vector<int64_t> elements;
  for (int64_t count : counts) {
    TORCH_CHECK_VALUE(count >= 0, name, " got the split size ", count,
                      "; sizes are not negative");
    elements.push_back(count * row);
  }
  return elements;
}

}  // namespace dipu::distributed

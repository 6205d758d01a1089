// SPDX-License-Identifier: Apache-2.0
//
// What is demanded of the tensors of a call. Functions throw c10::ValueError
// and c10::TypeError that name the operation and what was given.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dipu::distributed {

// The only tensor of `tensors`.
at::Tensor& single(std::vector<at::Tensor>& tensors, const char* name);
// The only list of `lists`, of `size` tensors.
std::vector<at::Tensor>& singleList(std::vector<std::vector<at::Tensor>>& lists,
                                    int size, const char* name);

void checkRoot(int64_t root, int size, const char* name);

void checkSameType(const at::Tensor& one, const at::Tensor& other,
                   const char* name);

// `large` has `size` times the elements of `small`, of the same type.
void checkTotal(const at::Tensor& large, const at::Tensor& small, int size,
                const char* name);

// `one` and `other` have the same type and number of elements.
void checkSame(const at::Tensor& one, const at::Tensor& other,
               const char* name);

void checkSameLength(std::size_t outputs, std::size_t inputs, const char* name);

// Whether all of `tensors` have as many elements.
bool haveEqualSizes(const std::vector<at::Tensor>& tensors);

// Numbers of elements of each rank's part of `tensor`, of which `counts` gives
// the rows; equal parts when it is empty.
std::vector<int64_t> elementCounts(const std::vector<int64_t>& counts,
                                   const at::Tensor& tensor, int size,
                                   const char* name);

}  // namespace dipu::distributed

// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/conversion/rules.h"

#include <gtest/gtest.h>

#include <string>

namespace dipu::conversion {
namespace {

std::string refusal(const std::string& text) {
  try {
    parseRules(text, "table.tsv");
  } catch (const RulesError& error) {
    return error.what();
  }
  return "";
}

TEST(RulesTest, AFunctionHasTypesAndALayout) {
  const Rules rules = parseRules(
      "# a comment\n"
      "diopiAdd\tfloat64=float32,int64=int32\t\n"
      "diopiConvolution2d\t\tcontiguous\n",
      "table.tsv");
  ASSERT_EQ(rules.size(), 2u);
  const Rule& add = rules.find("diopiAdd")->second;
  EXPECT_EQ(add.typeFor(diopi_dtype_int64), diopi_dtype_int32);
  EXPECT_EQ(add.typeFor(diopi_dtype_float64), diopi_dtype_float32);
  EXPECT_EQ(add.typeFor(diopi_dtype_bool), diopi_dtype_bool);
  EXPECT_EQ(add.typeFor(diopi_dtype_unsupported), diopi_dtype_unsupported);
  EXPECT_FALSE(add.contiguous());
  const Rule& convolution = rules.find("diopiConvolution2d")->second;
  EXPECT_EQ(convolution.typeFor(diopi_dtype_int64), diopi_dtype_int64);
  EXPECT_TRUE(convolution.contiguous());
}

TEST(RulesTest, KnowsWhatATypeStandsInFor) {
  const Rules rules =
      parseRules("diopiAdd\tint16=int32,int64=int32\t\n", "table.tsv");
  const Rule& add = rules.begin()->second;
  EXPECT_EQ(add.replacedBy(diopi_dtype_int32), diopi_dtype_int64);
  EXPECT_EQ(add.replacedBy(diopi_dtype_int64), diopi_dtype_int64);
  EXPECT_EQ(add.replacedBy(diopi_dtype_float32), diopi_dtype_float32);
}

TEST(RulesTest, AnEmptyTableHasNoRules) {
  EXPECT_TRUE(parseRules("", "table.tsv").empty());
  EXPECT_TRUE(parseRules("# nothing\n", "table.tsv").empty());
}

TEST(RulesTest, MistakesAreToldWithTheirLine) {
  EXPECT_EQ(refusal("\ndiopiAdd\n"),
            "table.tsv:2: a line has the function, its types and its layout, "
            "separated by tabs");
  EXPECT_EQ(refusal("\tint64=int32\t\n"),
            "table.tsv:1: a line has the function, its types and its layout, "
            "separated by tabs");
  EXPECT_EQ(refusal("diopiAdd\tint64=int65\t\n"),
            "table.tsv:1: no type is called 'int65'");
  EXPECT_EQ(refusal("diopiAdd\tint64\t\n"),
            "table.tsv:1: 'int64' is not of the form int64=int32");
  EXPECT_EQ(refusal("diopiAdd\tint64=float32\t\n"),
            "table.tsv:1: 'int64=float32' mixes integers and floating point "
            "numbers");
  EXPECT_EQ(refusal("diopiAddd\t\t\n"),
            "table.tsv:1: no function is called 'diopiAddd'");
  EXPECT_EQ(refusal("diopiCastDtype\t\t\n"),
            "table.tsv:1: diopiCastDtype does the conversions and cannot be "
            "converted");
  EXPECT_EQ(refusal("diopiAdd\t\tnhwc\n"),
            "table.tsv:1: layout 'nhwc' is not 'contiguous'");
  EXPECT_EQ(refusal("diopiAdd\t\t\ndiopiAdd\t\t\n"),
            "table.tsv:2: diopiAdd has a line already");
}

}  // namespace
}  // namespace dipu::conversion

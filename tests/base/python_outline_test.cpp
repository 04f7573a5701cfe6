#include "base/python_outline.h"

#include <gtest/gtest.h>

namespace fiel {
namespace {

TEST(PythonOutline, NamesOfTheTopLevel) {
  const PythonOutline o = python_outline(
      "import torch\n"
      "N: int = 4\n"
      "class Model(torch.nn.Module):\n"
      "    def forward(self, x):\n"
      "        return x\n"
      "def get_inputs():\n"
      "    return [torch.rand(\n"
      "4)]\n"
      "get_init_inputs = lambda: []\n"
      "async def later(): pass\n"
      "print(N == 3)\n");
  EXPECT_TRUE(o.defines("Model", PythonKind::class_));
  EXPECT_TRUE(o.defines("get_inputs", PythonKind::function));
  EXPECT_TRUE(o.defines("get_init_inputs", PythonKind::variable));
  EXPECT_TRUE(o.defines("N"));
  EXPECT_TRUE(o.defines("later", PythonKind::function));
  EXPECT_FALSE(o.defines("forward"));
  EXPECT_FALSE(o.defines("print"));
  ASSERT_EQ(o.names.size(), 5u);
  EXPECT_EQ(o.names[1].line, 3u);
  EXPECT_EQ(o.names[2].line, 6u);
}

TEST(PythonOutline, StringsCommentsAndContinuedLinesHideWhatTheyHold) {
  const PythonOutline o = python_outline(
      "source = '''\n"
      "class InText: pass\n"
      "'''\n"
      "# class InComment: pass\n"
      "x = [\n"
      "class_ = 1,\n"
      "]\n"
      "y = 'it\\'s # no comment' + \\\n"
      "z\n"
      "r = \"\"\"\\\"\"\"\n"
      "def in_text(): pass\n"
      "\"\"\"\n"
      "class Real: pass\n");
  EXPECT_FALSE(o.defines("InText"));
  EXPECT_FALSE(o.defines("InComment"));
  EXPECT_FALSE(o.defines("class_"));
  EXPECT_FALSE(o.defines("in_text"));
  EXPECT_FALSE(o.defines("z"));
  EXPECT_TRUE(o.defines("Real"));
}

TEST(PythonOutline, AnythingEnds) {
  for (std::string_view text : {"", "\"\"\"", "'", "(((", "class", "def ", "\\", "class\n",
                                "a=", "async", "\xff\xfe\n= 1", "x = '\\", "}}}\nclass A: pass"})
    python_outline(text);
  EXPECT_TRUE(python_outline("}}}\nclass A: pass").defines("A"));
  EXPECT_TRUE(python_outline("class A: pass").defines("A"));
}

}  // namespace
}  // namespace fiel

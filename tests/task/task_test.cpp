#include "task/task.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "task/symbols.h"
#include "tensor/random.h"

namespace fiel::task {
namespace {

const char* const kGood = R"toml(name = "scale"
description = "test"
expression = """
h = x * s
y = h + sum(offset)
"""
[inputs]
x = { dtype = "f32", shape = ["N", "2*C"] }
s = { dtype = "f32", shape = [1], parameter = true, distribution = "uniform(1, 2)" }
offset = { dtype = "f32", shape = ["3"] }
[outputs]
y = "f32"
[shapes.small]
N = 3
C = 4
[shapes.big]
N = 100
C = 50
benchmark = true
)toml";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Symbols, EvaluateArithmeticWithinBounds) {
  std::map<std::string, int64_t> s = {{"N", 6}, {"H", 4}};
  EXPECT_EQ(*evaluate_symbols("4*H + N", s), 22);
  EXPECT_EQ(*evaluate_symbols("(N+2)/H", s), 2);
  EXPECT_EQ(*evaluate_symbols(" 64 ", s), 64);
  EXPECT_EQ(*evaluate_symbols("N-2-3", s), 1);
  for (const char* bad : {"", "N+", "(N", "N)", "N/H", "N/0", "N-H-H", "M", "2 3", "N**2", "1.5",
                          "N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N", "99999999999999999999999"})
    EXPECT_FALSE(evaluate_symbols(bad, s)) << bad;
  EXPECT_FALSE(evaluate_symbols(std::string(200, '('), s));
  EXPECT_NE(evaluate_symbols("NN", s).error().hint.find("\"N\""), std::string::npos);
  EXPECT_EQ(*symbols_of("4*H+N*H"), (std::vector<std::string>{"H", "N"}));
}

TEST(Task, ReadsEverythingThatTheFileSays) {
  Result<Task> task = parse_task(kGood, "scale.toml");
  ASSERT_TRUE(task) << to_string(task.error());
  EXPECT_EQ(task->name, "scale");
  ASSERT_EQ(task->inputs.size(), 3u);
  EXPECT_EQ(task->inputs[0].name, "x");
  EXPECT_EQ(task->inputs[1].name, "s");
  EXPECT_TRUE(task->inputs[1].parameter);
  EXPECT_EQ(task->inputs[1].distribution, "uniform(1, 2)");
  EXPECT_EQ(task->inputs[2].distribution, "normal");
  EXPECT_EQ(task->expression_line, 4u);
  EXPECT_EQ(task->digest.size(), 64u);
  ASSERT_EQ(task->shape_sets.size(), 2u);
  EXPECT_FALSE(task->shape_sets[0].benchmark);
  EXPECT_TRUE(task->shape_sets[1].benchmark);
}

TEST(Task, InstanceBindsSymbolsAndEvaluatesTheReference) {
  Task task = *parse_task(kGood, "scale.toml");
  Instance at = *task.instantiate(task.shape_sets[0]);
  EXPECT_EQ(at.inputs[0].shape, (Shape{3, 8}));
  ASSERT_EQ(at.outputs.size(), 1u);
  EXPECT_EQ(at.outputs[0].shape, (Shape{3, 8}));
  EXPECT_EQ(at.outputs[0].dtype, DType::f32);
  Tensor x = *generate(*parse_distribution("normal"), DType::f32, {3, 8}, {1, 1});
  Tensor s = Tensor::from_f64(DType::f32, {1}, std::vector<double>{1.5});
  Tensor o = Tensor::from_f64(DType::f32, {3}, std::vector<double>{10, 20, 30});
  std::vector<Tensor> y = *at.reference({x, s, o});
  EXPECT_EQ(y[0].at({2, 5}), x.at({2, 5}) * 1.5 + 60);
  EXPECT_FALSE(at.reference({x, s}));
  EXPECT_FALSE(at.reference({x, o, s}));
}

TEST(Task, DerivedSymbolsAndIndexBoundsFollowTheShape) {
  Task task = *parse_task(R"toml(name = "rows"
expression = "y = table * sum(tokens)"
[symbols]
D = "H*16"
[inputs]
tokens = { dtype = "i64", shape = ["T"], domain = "index", bound = "V" }
table = { dtype = "f32", shape = ["V", "D"] }
[shapes]
a = { T = 5, V = 11, H = 2 }
b = { T = 7, V = 13, H = 3 }
)toml",
                          "rows.toml");
  Instance at = *task.instantiate(task.shape_sets[1]);
  EXPECT_EQ(at.inputs[1].shape, (Shape{13, 48}));
  EXPECT_EQ(at.index_bounds, (std::vector<int64_t>{13, 0}));
  EXPECT_EQ(at.input_specs[0].distribution, "indices(13)");
  EXPECT_EQ(at.outputs[0].shape, (Shape{13, 48}));
  ShapeSet other{"c", {{"T", 1}, {"V", 2}, {"H", 1}}, false};
  EXPECT_EQ(task.instantiate(other)->inputs[1].shape, (Shape{2, 16}));
}

TEST(Task, MistakesAreNamedWithLineColumnAndCaret) {
  const struct {
    const char *from, *to, *says, *where;
  } cases[] = {
      {"name = \"scale\"\n", "", "needs \"name\"", ""},
      {"name = \"scale\"", "name = 3", "must be a string", ":1:8:"},
      {"name = \"scale\"", "name = \"../x\"", "letters, digits", ":1:8:"},
      {"expression", "expresion", "did you mean \"expression\"", ":3:1:"},
      {"dtype = \"f32\", shape = [\"N\"", "dtyp = \"f32\", shape = [\"N\"",
       "did you mean \"dtype\"", ":8:"},
      {"dtype = \"f32\", shape = [\"N\"", "dtype = \"float32\", shape = [\"N\"",
       "did you mean \"f32\"", ":8:15:"},
      {"[\"N\", \"2*C\"]", "[\"N\", \"2*\"]", "ends too early", ":8:"},
      {"[\"N\", \"2*C\"]", "[\"N\", 1.5]", "integer or a text", ":8:"},
      {"[\"N\", \"2*C\"]", "[\"N\", \"2*D\"]", "bound by no shape set", ":8:"},
      {"[\"N\", \"2*C\"]", "\"N\"", "must be an array", ":8:"},
      {"\"uniform(1, 2)\"", "\"unifrom(1, 2)\"", "did you mean \"uniform\"", ":9:"},
      {"\"uniform(1, 2)\"", "\"uniform(2, 1)\"", "above its upper end", ":9:"},
      {"parameter = true", "domain = \"positve\"", "did you mean \"positive\"", ":9:"},
      {"parameter = true", "domain = \"index\"", "needs a bound", ":9:"},
      {"parameter = true", "bound = \"N\"", "domain = \"index\"", ":9:"},
      {"parameter = true, distribution = \"uniform(1, 2)\"",
       "domain = \"positive\", distribution = \"normal\"", "leave the input's domain", ":9:"},
      {"y = \"f32\"", "y = \"i32\"", "the expression gives f32", ""},
      {"y = \"f32\"", "x = \"f32\"", "an input already", ":12:"},
      {"y = \"f32\"", "z = \"f32\"", "z", ""},
      {"N = 3", "N = -3", "outside", ":14:"},
      {"N = 3", "N = 3.5", "must be an integer", ":14:"},
      {"N = 3", "M = 3", "used nowhere", ":14:1:"},
      {"N = 3\n", "", "does not bind symbol \"N\"", ""},
      {"N = 3", "N = 99999999999", "larger than", ""},
      {"h = x * s", "h = x * t", "t", ":4:"},
      {"h = x * s", "h = relo(x)", "relu", ":4:"},
      {"sum(offset)", "concat(x)", "concat", ":5:"},
      {"[outputs]", "[tolerance]\nrelative_rms = -1\n[outputs]", "must be a number", ":12:"},
      {"[outputs]", "[tolerance]\nrelative = 1\n[outputs]", "relative_rms", ":12:"},
      {"description = \"test\"", "special_values = \"propogate\"", "did you mean \"propagate\"",
       ":2:"},
      {"[outputs]", "[outputs", "", ":11:"},
  };
  for (const auto& c : cases) {
    Result<Task> task = parse_task(replaced(kGood, c.from, c.to), "scale.toml");
    ASSERT_FALSE(task) << c.to;
    const std::string message = to_string(task.error());
    EXPECT_NE(message.find(c.says), std::string::npos) << message;
    EXPECT_NE(message.find("scale.toml" + std::string(c.where)), std::string::npos) << c.to << "\n"
                                                                                    << message;
    EXPECT_TRUE(c.where[0] == 0 || message.find('^') != std::string::npos) << message;
  }
}

TEST(Task, AMissingFileAndAHugeOneAreErrors) {
  EXPECT_EQ(load_task("/nonexistent/x.toml").error().code, ErrorCode::not_found);
  EXPECT_FALSE(parse_task(std::string(2 << 20, '#'), "big.toml"));
}

TEST(Task, MutatedAndTruncatedFilesNeverCrash) {
  std::mt19937 random(12345);
  const std::string good = kGood;
  const std::string bits = "[]{}\"'=#,.\n\\*/()-0159NCxy \xff\x01";
  int accepted = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text = good;
    for (unsigned k = random() % 4 + 1; k > 0; --k) {
      size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = bits[random() % bits.size()];
          break;
        case 1:
          text.erase(at, random() % 8 + 1);
          break;
        case 2:
          text.insert(at, 1, bits[random() % bits.size()]);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
      }
      if (text.empty()) text = "x";
    }
    accepted += parse_task(text, "mutated.toml").has_value();
  }
  for (size_t length = 0; length < good.size(); length += 3)
    (void)parse_task(good.substr(0, length), "truncated.toml");
  EXPECT_GT(accepted, 10);  // the mutations reach behind the first check
}

}  // namespace
}  // namespace fiel::task

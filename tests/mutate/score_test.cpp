// The arithmetic of a study: who misses what, and the greedy order of probes.
#include "mutate/score.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mutate/trial.h"

namespace fiel::mutate {
namespace {

MutantRecord record(Kind kind, bool witness, bool strict_accepts, bool naive_accepts,
                    std::vector<ProbeAt> seen_by) {
  MutantRecord r;
  r.subject = {"t.toml", "k.cu"};
  r.mutant.kind = kind;
  if (witness) r.witness = FoundWitness{"values", "N=3", "rows", 0, 1};
  r.opinions["strict"] = {strict_accepts, "", {}};
  r.opinions[std::string(kStrictQuick)] = {strict_accepts, "", {}};
  r.opinions["naive"] = {naive_accepts, "", {}};
  r.seen_by = std::move(seen_by);
  return r;
}

std::string order(const std::vector<CoverRow>& rows) {
  std::string text;
  for (const CoverRow& r : rows)
    text += r.name + ":" + std::to_string(r.alone) + "/" + std::to_string(r.marginal) + " ";
  return text;
}

TEST(GreedyCover, TakesWhatSeesMostOfWhatIsLeft) {
  // a sees 1-4, b 3-6, c 5 and 6, d 7: after a, b's gain is 5 and 6, c has none left.
  const std::vector<std::set<std::string>> seen = {{"a"},      {"a"},      {"a", "b"}, {"a", "b"},
                                                   {"b", "c"}, {"b", "c"}, {"d"}};
  const auto rows = greedy_cover(seen, {{"a", 3}, {"b", 1}, {"c", 1}, {"d", 9}, {"e", 2}});
  // b before a: the same gain for fewer calls; then a has two left.
  EXPECT_EQ(order(rows), "b:4/4 a:4/2 d:1/1 c:2/0 e:0/0 ");
  EXPECT_EQ(rows[2].seen, 7u);
  EXPECT_EQ(rows[1].calls, 3);
}

TEST(GreedyCover, OfNothingIsTheProbesByCost) {
  EXPECT_EQ(order(greedy_cover({}, {{"a", 3}, {"b", 1}})), "b:0/0 a:0/0 ");
}

TEST(Score, CountsMissesOfTheWitnessedByKind) {
  std::vector<MutantRecord> mutants = {
      record(Kind::term, true, false, true, {{"ties", "small"}}),
      record(Kind::term, true, false, false, {{"ties", "small"}, {"outliers", "odd:ones"}}),
      record(Kind::term, true, true, true, {}),
      record(Kind::term, false, true, true, {}),
      record(Kind::bounds, false, false, false, {{"ties", "small"}}),
  };
  mutants.push_back(record(Kind::bounds, false, false, false, {}));
  mutants.back().fate = Fate::not_compiled;
  mutants.push_back(record(Kind::bounds, false, false, false, {}));
  mutants.back().fate = Fate::same_code;
  SubjectRecord subject, unfit;
  subject.sound = 40;
  subject.calls = {{"ties", 10}, {"outliers", 20}};
  unfit.unfit = "wrong";
  unfit.sound = 1000;
  const Score s = score_of({subject, unfit}, mutants);
  EXPECT_EQ(s.subjects, 1u);
  EXPECT_EQ(s.inputs, 40u);
  ASSERT_EQ(s.kinds.size(), 2u);
  const KindScore &bounds = s.kinds[0], &term = s.kinds[1];
  EXPECT_EQ(term.kind, "term");
  EXPECT_EQ(term.witnessed, 3u);
  EXPECT_EQ(term.missed.at("strict").count, 1u);
  EXPECT_EQ(term.missed.at("strict").of, 3u);
  EXPECT_EQ(term.missed.at("naive").count, 2u);
  EXPECT_NEAR(term.missed.at("strict").high, 0.7923, 1e-3);
  EXPECT_EQ(bounds.made, 3u);
  EXPECT_EQ(bounds.not_compiled, 1u);
  EXPECT_EQ(bounds.same_code, 1u);
  EXPECT_EQ(bounds.unwitnessed, 1u);
  EXPECT_EQ(bounds.strict_alone, 1u);
  EXPECT_EQ(bounds.missed.at("strict").of, 0u);
  EXPECT_EQ(s.total.made, 7u);
  ASSERT_EQ(s.missed.size(), 1u);
  EXPECT_EQ(order(s.probes), "ties:2/2 outliers:1/0 ");
  EXPECT_EQ(order(s.shapes), "declared:2/2 odd:ones:1/0 ");
  const std::string text = to_text(s), page = to_markdown(s);
  EXPECT_NE(text.find("missed by strict: k.cu"), std::string::npos) << text;
  EXPECT_NE(page.find("| term | 4 | 0 | 0 | 1 | 3 | 66.7"), std::string::npos) << page;
  EXPECT_EQ(to_json(s)["all"]["missed"]["strict"]["count"].as_int(), 1);
}

TEST(Csv, HasALineAMutantWhateverItsSourceHolds) {
  MutantRecord r = record(Kind::term, true, false, true, {{"ties", "small"}, {"ties", "odd:ones"}});
  r.mutant.rule = "summand dropped";
  r.mutant.original = "+ f(\"a\",\n b)";
  const std::string text = to_csv({r});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_NE(text.find(",term,summand dropped,\"+ f(\"\"a\"\",  b)\",\"\",judged,values,N=3,rows,0,"
                      "accepted,,,,rejected,rejected,,,ties\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace fiel::mutate

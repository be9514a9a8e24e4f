#include "grammar.h"

#include <cmath>

#include "logCapture.h"

namespace roomful {

namespace {

constexpr size_t kMostText = size_t{1} << 18;
constexpr int kDeepest = 128;

/** The deepest nesting of groups, brackets in literals, character classes and comments left out. */
int nestingOf(const std::string& text) {
  int depth = 0;
  int deepest = 0;
  char closing = 0;
  for (size_t i = 0; i < text.size(); i++) {
    const char at = text[i];
    if (closing != 0) {
      if (at == '\\' && closing != '\n') i++;
      else if (at == closing) closing = 0;
      continue;
    }
    switch (at) {
      case '"': closing = '"'; break;
      case '[': closing = ']'; break;
      case '#': closing = '\n'; break;
      case '(': deepest = std::max(deepest, ++depth); break;
      case ')': depth--; break;
      default: break;
    }
  }
  return deepest;
}

Failure bad(const std::string& problem) { return {FailureCode::BadArgument, "the grammar " + problem}; }

}  // namespace

Outcome<SamplerPointer> openGrammar(const LlamaApi& api, const llama_vocab* vocabulary, const std::string& text) {
  if (text.empty()) return bad("is empty");
  if (text.size() > kMostText) return bad("is longer than " + std::to_string(kMostText) + " bytes");
  if (text.find('\0') != std::string::npos) return bad("holds a zero byte");
  if (nestingOf(text) > kDeepest) return bad("nests groups deeper than " + std::to_string(kDeepest));
  const LogCapture log;
  return contained(FailureCode::BadArgument, [&]() -> Outcome<SamplerPointer> {
    SamplerPointer grammar(api.llama_sampler_init_grammar(vocabulary, text.c_str(), "root"), FreeSampler{&api});
    if (!grammar) return Failure{FailureCode::BadArgument, log.explain("the grammar cannot be read")};
    return grammar;
  });
}

bool allows(const LlamaApi& api, llama_sampler* grammar, int32_t token) {
  llama_token_data single{token, 1.0f, 0.0f};
  llama_token_data_array array{&single, 1, -1, false};
  api.llama_sampler_apply(grammar, &array);
  return std::isfinite(single.logit);
}

}  // namespace roomful

#pragma once

#include <string>

#include "failure.h"
#include "samplerPointer.h"

namespace roomful {

/**
 * Reads a GBNF grammar with a rule `root`. Fails with BadArgument and llama.cpp's reason. Nesting is bounded here, since
 * llama.cpp reads groups by recursion. (A syntax error is also printed to stderr by llama.cpp, past its log.)
 */
Outcome<SamplerPointer> openGrammar(const LlamaApi& api, const llama_vocab* vocabulary, const std::string& text);

/** Whether a grammar sampler takes `token` next. */
bool allows(const LlamaApi& api, llama_sampler* grammar, int32_t token);

}  // namespace roomful

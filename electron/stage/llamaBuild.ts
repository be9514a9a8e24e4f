/**
 * The llama.cpp release whose libraries node-llama-cpp ships and whose headers the addon is compiled against. Members of
 * a pool that split a model must agree on it: other releases may compute otherwise.
 */
export const LLAMA_CPP_COMMIT = 'v0.4.0';

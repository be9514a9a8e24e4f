import type { GenerateRequest, ServedModel } from '../../pipeline/serving/servedModel.ts';

/** `model` that says `text` where no grammar holds for it, and is itself otherwise; and the requests that it gets. */
export function sayingModel(
  model: ServedModel,
  text: string,
  chatTemplate = model.chatTemplate,
): { model: ServedModel; requests: GenerateRequest[] } {
  const requests: GenerateRequest[] = [];
  const generate: ServedModel['generate'] = async function* (request, signal) {
    requests.push(request);
    if (request.sampling.grammar !== null) {
      yield* model.generate(request, signal);
      return;
    }
    const tokens = await model.tokenize(text, { addSpecial: false, parseSpecial: false });
    for (const id of tokens.slice(0, request.maxTokens)) yield { id, logprob: null, top: [] };
    const [end] = model.endTokens;
    if (tokens.length < request.maxTokens && end !== undefined) yield { id: end, logprob: null, top: [] };
  };
  return { model: { ...model, chatTemplate, generate }, requests };
}

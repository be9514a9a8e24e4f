import type { ServedModel } from '../../../pipeline/serving/servedModel.ts';

/** A model of which there is only what renders its chats. */
export function templateModel(chatTemplate: string | null, other: Partial<ServedModel> = {}): ServedModel {
  return {
    id: 'demo',
    contentId: '',
    createdAt: 0,
    bytes: 0,
    contextLength: 4096,
    architecture: 'llama',
    chatTemplate,
    embedsOnly: false,
    bosText: '<s>',
    eosText: '</s>',
    endTokens: new Set(),
    tokenize: async () => [],
    pieces: { bytes: new Uint8Array(), offsets: new Uint32Array(1) },
    controlTokens: new Map(),
    generate: async function* () {},
    embed: async () => new Float32Array(0),
    ...other,
  };
}

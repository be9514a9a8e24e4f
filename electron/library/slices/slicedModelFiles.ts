import { modelShape } from '../../gguf/modelShape.ts';
import type { ModelFiles, ModelHolder, OpenedModel } from '../../pipeline/forming/modelFiles.ts';
import type { ModelLibrary } from '../modelLibrary.ts';
import type { ModelHeaders } from './modelHeaders.ts';

export interface SlicedModelFilesOptions {
  library: ModelLibrary;
  headers: ModelHeaders;
  /** This member as a holder. */
  self(): ModelHolder;
}

/** The models of this member's library, and by their headers those of other members. */
export class SlicedModelFiles implements ModelFiles {
  readonly #options: SlicedModelFilesOptions;

  constructor(options: SlicedModelFilesOptions) {
    this.#options = options;
  }

  async find(called: string): Promise<string | null> {
    return this.#options.library.find(called)?.id ?? null;
  }

  async importFile(path: string): Promise<string> {
    return (await this.#options.library.import(path)).id;
  }

  async open(id: string, holders: readonly ModelHolder[], signal?: AbortSignal): Promise<OpenedModel> {
    const { headers, self } = this.#options;
    const own = self();
    const others = holders.filter(({ member }) => member !== own.member);
    const known = await headers.find(id, others, signal ?? new AbortController().signal);
    return {
      id,
      summary: known.source.summary,
      shape: modelShape(known.source),
      holders: known.isHeld ? [own, ...others] : others,
      writeVocabulary: (path, options) => headers.writeVocabulary(known, path, options),
    };
  }
}

import { modelShape } from '../../gguf/modelShape.ts';
import type { ModelFiles, ModelHolder, OpenedModel } from '../../pipeline/forming/modelFiles.ts';
import { LibraryError } from '../libraryError.ts';
import type { ModelLibrary } from '../modelLibrary.ts';
import type { ModelHeaders } from './modelHeaders.ts';
import { weightsOf } from './oneModel.ts';

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

  async holds(called: string): Promise<{ model: string; weights?: string | undefined } | null> {
    const found = this.#options.library.find(called);
    return found?.state === 'ready' ? { model: found.id, weights: found.weights ?? undefined } : null;
  }

  async importFile(path: string): Promise<string> {
    return (await this.#options.library.import(path)).id;
  }

  async open(id: string, holders: readonly ModelHolder[], signal?: AbortSignal): Promise<OpenedModel> {
    const { headers, self, library } = this.#options;
    const own = self();
    const others = holders.filter(({ member }) => member !== own.member);
    const wanted = weightsOf(holders);
    const known = await headers.find(id, others, signal ?? new AbortController().signal).catch((cause: unknown) => {
      // That of this member is not as it was, and nobody else has it.
      const problem = library.state().models.find((model) => model.id === id)?.problem ?? null;
      throw problem === null ? cause : new LibraryError('FileChanged', problem, { cause });
    });
    const weights = known.isHeld ? (library.find(id)?.weights ?? undefined) : undefined;
    // Its file may have the header of this model, and other weights.
    const isHolder = known.isHeld && (wanted === null || weights === undefined || weights === wanted);
    return {
      id,
      summary: known.source.summary,
      shape: modelShape(known.source),
      holders: isHolder ? [{ ...own, weights }, ...others] : others,
      writeVocabulary: (path, options) => headers.writeVocabulary(known, path, options),
    };
  }
}

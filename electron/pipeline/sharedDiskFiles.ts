import { modelFingerprint } from '../gguf/modelFingerprint.ts';
import { modelId, withoutQuantisation } from '../gguf/modelId.ts';
import { modelShape } from '../gguf/modelShape.ts';
import { openModel } from '../gguf/openModel.ts';
import { writeVocabulary } from '../gguf/writeVocabulary.ts';
import type { ModelFiles, ModelHolder, OpenedModel } from './modelFiles.ts';
import { PipelineError } from './pipelineError.ts';

/** Where a holder's file is, until members fetch what they need from each other. */
const PATH_PREFIX = 'path:';

/** Models on a disk that all members share, known by their paths. */
export class SharedDiskFiles implements ModelFiles {
  readonly #paths = new Map<string, { path: string; name: string }>();

  async find(called: string): Promise<string | null> {
    for (const [id, { name }] of this.#paths) {
      if (id === called || name === called || withoutQuantisation(name) === called) return id;
    }
    return null;
  }

  async importFile(path: string): Promise<string> {
    const source = await openModel(path);
    const id = modelFingerprint(source);
    this.#paths.set(id, { path, name: modelId(source.summary) });
    return id;
  }

  async open(id: string, holders: readonly ModelHolder[]): Promise<OpenedModel> {
    const told = holders.flatMap(({ addresses }) => addresses).find((address) => address.startsWith(PATH_PREFIX));
    const path = this.#paths.get(id)?.path ?? told?.slice(PATH_PREFIX.length);
    if (path === undefined) throw new PipelineError('FormFailed', 'Nobody has the file of this model any more.');
    const source = await openModel(path);
    return {
      id,
      path,
      summary: source.summary,
      shape: modelShape(source),
      holders: [{ member: 'shared disk', addresses: [`${PATH_PREFIX}${path}`] }],
      writeVocabulary: (to, options) => writeVocabulary(source, to, options),
    };
  }
}

import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cutStage } from '../../electron/gguf/cutStage.ts';
import { modelFingerprint } from '../../electron/gguf/modelFingerprint.ts';
import { modelShape } from '../../electron/gguf/modelShape.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { writeVocabulary } from '../../electron/gguf/writeVocabulary.ts';
import type { ModelFiles, OpenedModel } from '../../electron/pipeline/forming/modelFiles.ts';
import type { StageFileLease, StageFileRequest, StageFiles } from '../../electron/pipeline/forming/stageFiles.ts';

/** One model on a disk that all members of a test share, for tests that are about something else than its travels. */
export class DiskModel implements ModelFiles, StageFiles {
  readonly #path: string;
  readonly #folder: string;

  /** Stage files are cut into `folder`. */
  constructor(path: string, folder: string) {
    this.#path = path;
    this.#folder = folder;
  }

  async find(): Promise<string> {
    return modelFingerprint(await openModel(this.#path));
  }

  async holds(): Promise<{ model: string }> {
    return { model: await this.find() };
  }

  importFile(): Promise<string> {
    return this.find();
  }

  async open(): Promise<OpenedModel> {
    const source = await openModel(this.#path);
    return {
      id: modelFingerprint(source),
      summary: source.summary,
      shape: modelShape(source),
      holders: [{ member: 'disk', addresses: ['disk'] }],
      writeVocabulary: (path, options) => writeVocabulary(source, path, options),
    };
  }

  async provide({ startLayer, endLayer }: StageFileRequest): Promise<StageFileLease> {
    const model = await openModel(this.#path);
    if (startLayer === 0 && endLayer === model.layers) {
      const file = { path: this.#path, role: 'whole' as const, layers: endLayer, embedding: null, vocabulary: null };
      return { file, release: async () => {}, check: async () => {} };
    }
    const folder = join(this.#folder, randomBytes(6).toString('hex'));
    await mkdir(folder, { recursive: true });
    const { bytes: _, ...file } = await cutStage(
      model,
      { start: startLayer, end: endLayer },
      join(folder, 'stage.gguf'),
    );
    return { file, release: () => rm(folder, { recursive: true, force: true }), check: async () => {} };
  }
}

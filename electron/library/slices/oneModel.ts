import type { ModelHolder } from '../../pipeline/forming/modelFiles.ts';
import { StageFileDamaged, type StageFileRequest } from '../../pipeline/forming/stageFiles.ts';
import type { CheckOptions } from './damagedTensors.ts';
import type { HeldModel, HeldModels } from './heldModel.ts';
import type { HolderPeers } from './holderPeers.ts';
import { recordedHashes } from './recordedHashes.ts';
import { SliceError } from './sliceError.ts';
import type { StageFolder } from './stageFolders.ts';
import { writeStageRecord } from './stageRecord.ts';
import type { StageWriter } from './stageWriter.ts';

export interface OneModelOptions {
  held: HeldModels;
  peers: HolderPeers;
  onProblem(problem: SliceError): void;
}

/** The weights that are to be served, as far as any holder knows them. */
export function weightsOf(holders: readonly ModelHolder[]): string | null {
  return holders.find(({ weights }) => weights !== undefined)?.weights ?? null;
}

/**
 * Keeps models apart that share a content id, which covers but a sample of the weights: what lies on this disk is used for a
 * stage only where its hashes are those of the model that is to be served.
 */
export class OneModel {
  readonly #options: OneModelOptions;

  constructor(options: OneModelOptions) {
    this.#options = options;
  }

  /** Reads this member's own file before it may be loaded whole. */
  async checkHeld(model: string, weights: string | null, options: CheckOptions): Promise<void> {
    const { held } = this.#options;
    await held.check(model, options);
    const own = (await held.find(model))?.weights ?? null;
    if (weights === null || own === null || own === weights) return;
    throw new StageFileDamaged(
      'The file of this model on this disk has other weights than the one that is to be served.',
    );
  }

  /** Whether whole files are of a model with these weights; those that were made before anyone knew are asked about. */
  async hasWeights(
    folder: StageFolder,
    weights: string | null,
    holders: readonly ModelHolder[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { record } = folder;
    if (record === null || weights === null || record.weights === weights) return true;
    if (record.weights !== null) return false;
    const { peers, held } = this.#options;
    const names = record.tensors.map(({ tensor }) => tensor);
    const own = await held.find(record.model);
    const known =
      own?.weights === weights ? own.hashes : await recordedHashes(record.model, names, { holders, peers, signal });
    if (!record.tensors.every(({ tensor, sha256 }) => known.get(tensor) === sha256)) return false;
    folder.record = { ...record, weights };
    await writeStageRecord(folder.path, folder.record);
    return true;
  }

  /** This member's own file, once it is known to be the same model: its header alone does not say so. */
  async donor(
    model: string,
    weights: string | null,
    holders: readonly ModelHolder[],
    signal: AbortSignal,
  ): Promise<HeldModel | undefined> {
    const { held } = this.#options;
    const found = await held.find(model);
    if (found === undefined || found.weights !== undefined || holders.length === 0) {
      return weights === null || found?.weights === undefined || found.weights === weights ? found : undefined;
    }
    await held.check(model, { signal }).catch((cause: unknown) => {
      if (!(cause instanceof StageFileDamaged)) throw cause;
      this.#options.onProblem(new SliceError('TensorDamaged', cause.message, { cause }));
    });
    const read = await held.find(model);
    return weights === null || read?.weights === weights ? read : undefined;
  }

  /** What an earlier try took from a model with other weights is fetched again. */
  async forgetOthers(
    writer: StageWriter,
    {
      model,
      weights,
      holders,
      signal,
    }: Pick<StageFileRequest, 'model' | 'holders'> & {
      weights: string | null;
      signal: AbortSignal;
    },
  ): Promise<void> {
    const verified = writer.layout.units.filter((unit) => writer.verifiedAs(unit) !== undefined);
    const able = holders.filter((holder) => holder.weights === weights);
    if (weights === null || verified.length === 0 || able.length === 0) return;
    const names = verified.map(({ tensor }) => tensor);
    const known = await recordedHashes(model, names, { holders: able, peers: this.#options.peers, signal });
    for (const unit of verified) {
      if ((known.get(unit.tensor) ?? writer.verifiedAs(unit)) !== writer.verifiedAs(unit)) writer.damaged(unit);
    }
  }
}

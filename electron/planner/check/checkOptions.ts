import { InvalidInput } from '../invalidInput.ts';
import { type Member, reachabilities } from '../member.ts';
import type { ModelShape } from '../modelShape.ts';
import {
  type CostOptions,
  forces,
  kvTypes,
  type Link,
  type PlanOptions,
  plainRamChoices,
  policies,
} from '../planOptions.ts';
import {
  checkChoice,
  checkFlag,
  checkList,
  checkNumber,
  checkObject,
  checkOptional,
  checkText,
  positiveCount,
  rate,
} from './checks.ts';

/** A stage that is measured faster than this was not measured. */
const leastMs = 1e-6;

/** Refuses costs that mean nothing; throws `InvalidInput`. */
export function checkCostOptions(options: CostOptions): void {
  checkObject(options, 'options');
  checkOptional(options.contextLength, 'options.contextLength', positiveCount);
  checkOptional(options.slots, 'options.slots', { ...positiveCount, most: 65_536 });
  if (options.kvType !== undefined) checkChoice(options.kvType, kvTypes, 'options.kvType');
  checkFlag(options.swaFull, 'options.swaFull');
  checkOptional(options.batch, 'options.batch', { ...positiveCount, most: 65_536 });
  checkOptional(options.engineHostBytes, 'options.engineHostBytes', {});
  checkOptional(options.headroom, 'options.headroom', { most: 0.9 });
  const { draft } = options;
  if (draft !== undefined && draft !== null) {
    checkNumber(draft.bytes, 'options.draft.bytes');
    checkNumber(draft.tokens, 'options.draft.tokens', { most: 1024, whole: true });
  }
}

/** Refuses choices that name nobody or contradict each other; throws `InvalidInput`. */
export function checkOptions(options: PlanOptions, members: readonly Member[], model: ModelShape): void {
  checkCostOptions(options);
  if (options.policy !== undefined) checkChoice(options.policy, policies, 'options.policy');
  if (options.force !== undefined) checkChoice(options.force, forces, 'options.force');
  if (options.plainRam !== undefined) checkChoice(options.plainRam, plainRamChoices, 'options.plainRam');
  if (options.referenceCommit !== undefined) checkText(options.referenceCommit, 'options.referenceCommit');
  checkOptional(options.replicas, 'options.replicas', positiveCount);
  checkOptional(options.maxReplicas, 'options.maxReplicas', positiveCount);
  checkOptional(options.promptTokens, 'options.promptTokens', positiveCount);
  checkFlag(options.exact, 'options.exact');

  const checkAddress: CheckAddress = addressCheck(members);
  const checkAddresses = (addresses: readonly string[] | undefined, field: string) => {
    if (addresses === undefined) return;
    checkList(addresses, field);
    for (const [index, address] of addresses.entries()) {
      checkAddress(address, `${field}[${index}]`);
      if (addresses.indexOf(address) !== index) throw new InvalidInput(`${field}[${index}]`, `names ${address} twice`);
    }
  };
  checkAddresses(options.members, 'options.members');
  checkAddresses(options.excluded, 'options.excluded');
  if (options.coordinator !== undefined && options.coordinator !== null) {
    checkAddress(options.coordinator, 'options.coordinator');
  }
  if (options.links !== undefined) checkLinks(options.links, members, 'options.links');
  checkMeasured(options, checkAddress, model.layers.length);
}

type CheckAddress = (address: unknown, field: string) => asserts address is string;

function addressCheck(members: readonly Member[]): CheckAddress {
  const known = new Set(members.map(({ address }) => address));
  return (address, field) => {
    checkText(address, field);
    if (!known.has(address)) throw new InvalidInput(field, `is ${address}, which no member has`);
  };
}

/** Refuses links that lead nowhere or are measured twice; `name` is the path of the list. */
export function checkLinks(links: unknown, members: readonly Member[], name: string): asserts links is readonly Link[] {
  checkList(links, name);
  const checkAddress: CheckAddress = addressCheck(members);
  const seen = new Map<string, Set<string>>();
  for (const [index, each] of links.entries()) {
    const field = `${name}[${index}]`;
    checkObject(each, field);
    const link: Partial<Record<keyof Link, unknown>> = each;
    checkAddress(link.from, `${field}.from`);
    checkAddress(link.to, `${field}.to`);
    if (link.from === link.to)
      throw new InvalidInput(`${field}.to`, 'must be another member than the one it comes from');
    const known = seen.get(link.from) ?? new Set();
    if (known.has(link.to)) throw new InvalidInput(field, `measures ${link.from} to ${link.to} a second time`);
    seen.set(link.from, known.add(link.to));
    checkOptional(link.rttMs, `${field}.rttMs`, { most: 1e9 });
    checkOptional(link.bytesPerSecond, `${field}.bytesPerSecond`, rate);
    if (link.reachability !== undefined) checkChoice(link.reachability, reachabilities, `${field}.reachability`);
  }
}

function checkMeasured({ measured }: PlanOptions, checkAddress: CheckAddress, layers: number): void {
  if (measured === undefined) return;
  checkList(measured, 'options.measured');
  const seen = new Set<string>();
  for (const [index, stage] of measured.entries()) {
    const field = `options.measured[${index}]`;
    checkObject(stage, field);
    checkAddress(stage.address, `${field}.address`);
    if (seen.has(stage.address)) throw new InvalidInput(`${field}.address`, `is ${stage.address}, measured twice`);
    seen.add(stage.address);
    checkNumber(stage.startLayer, `${field}.startLayer`, { most: layers - 1, whole: true });
    checkNumber(stage.endLayer, `${field}.endLayer`, { least: stage.startLayer + 1, most: layers, whole: true });
    checkNumber(stage.ms, `${field}.ms`, { least: leastMs, most: 1e9 });
  }
}

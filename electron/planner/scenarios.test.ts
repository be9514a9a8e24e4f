import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Member } from './member.ts';
import type { ModelShape } from './modelShape.ts';
import { plan } from './plan.ts';
import type { PlanOptions } from './planOptions.ts';

/** A model of `models.json`: one layer stands for all. */
interface ScenarioModel {
  name: string;
  architecture: string;
  layers: number;
  hiddenSize: number;
  vocabularySize: number;
  contextLength: number;
  layerBytes: number;
  expertBytes?: number;
  kvBytesPerToken: number;
  /** Of every layer but each `fullEvery`-th. */
  slidingWindow?: number;
  fullEvery?: number;
  embeddingBytes: number;
  outputBytes: number;
  tiedBytes?: number;
  /** A stage may start at multiples of this; anywhere where left out. */
  cutEvery?: number;
  unsplittableReason?: string;
  parameters: number;
  experts?: { count: number; usedPerToken: number };
}

/** A room that people have, and the plan that is right for it. Only what is written is compared. */
interface Scenario {
  why: string;
  model: string;
  members: Member[];
  options: PlanOptions;
  expect: {
    fit: string;
    hops?: number;
    coordinator?: string | null;
    /** Of each pipeline the stages as [address, first layer, layer after the last]. */
    pipelines: [string, number, number][][];
    spare?: string[];
    /** The kind of reason of every rejected member. */
    rejected?: Record<string, string>;
    needed?: Record<string, number>;
    runMode?: string | null;
    plainRamBytes?: number[][];
    missingBytes?: number;
    help?: string[];
    contextLength?: number;
    quant?: string;
    /** A line of the explanation. */
    says?: string;
  };
}

const folder = new URL('./scenarios/', import.meta.url);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, folder), 'utf8'));
const { models } = read('models.json') as { models: Record<string, ScenarioModel> };
const scenarios = readdirSync(folder)
  .filter((name) => !['models.json', 'compact.json'].includes(name))
  .map((name) => ({ name: name.replace('.json', ''), ...(read(name) as Scenario) }));

describe('rooms that people have', () => {
  test.each(scenarios)('$name: $why', ({ model, members, options, expect: right }) => {
    const result = plan(members, shapeOf(model), options);
    const { missingBytes, help } = result.shortfall ?? { missingBytes: undefined, help: [] };
    const answer = {
      ...result,
      pipelines: result.pipelines.map(({ stages }) =>
        stages.map(({ address, startLayer, endLayer }) => [address, startLayer, endLayer]),
      ),
      rejected: Object.fromEntries(result.rejected.map(({ address, reason }) => [address, reason.kind])),
      needed: Object.fromEntries(
        result.rejected.flatMap(({ address, reason }) =>
          reason.kind === 'InsufficientMemory' ? [[address, reason.needed]] : [],
        ),
      ),
      runMode: result.runMode?.kind ?? null,
      plainRamBytes: result.pipelines.map(({ stages }) => stages.map(({ plainRamBytes }) => plainRamBytes)),
      missingBytes,
      help: help.map(({ kind }) => kind),
      contextLength: help.flatMap((each) => (each.kind === 'SmallerContext' ? [each.contextLength] : []))[0],
      quant: help.flatMap((each) => (each.kind === 'SmallerQuant' ? [each.quant] : []))[0],
      says: result.explain.find((line) => line === right.says),
    };
    const compared = Object.fromEntries(Object.keys(right).map((key) => [key, answer[key as keyof typeof answer]]));
    expect(compared).toEqual(right);
  });

  test('there are many, and each says why', () => {
    expect(scenarios.length).toBeGreaterThan(50);
    for (const { why } of scenarios) expect(why).toMatch(/\.$/);
  });
});

function shapeOf(name: string): ModelShape {
  const model = models[name];
  if (model === undefined) throw new Error(`models.json has no ${name}`);
  const { layers, layerBytes, expertBytes, kvBytesPerToken, slidingWindow, fullEvery, cutEvery, ...rest } = model;
  const reason = model.unsplittableReason ?? null;
  const step = cutEvery ?? 1;
  const cuts = Array.from({ length: Math.ceil(layers / step) - 1 }, (_, index) => (index + 1) * step);
  return {
    ...rest,
    sharedBytes: 0,
    layers: Array.from({ length: layers }, (_, index) => ({
      weightBytes: layerBytes,
      kvBytesPerToken,
      slidingWindow: slidingWindow !== undefined && (index + 1) % (fullEvery ?? 1) !== 0 ? slidingWindow : null,
      ...(expertBytes === undefined ? {} : { expertBytes }),
    })),
    cutPoints: reason === null ? cuts : [],
    unsplittableReason: reason,
  };
}

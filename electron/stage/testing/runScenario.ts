import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { librariesOf, thisMachine } from '../librariesFolder.ts';
import { addonPath } from '../loadAddon.ts';
import { demoPath } from './demoModel.ts';

export const scenarioPath = fileURLToPath(new URL('./addonScenario.mjs', import.meta.url));

export interface ScenarioResult {
  /** The signal's name where a signal ended it. */
  exit: number | string;
  output: string;
}

export interface ScenarioOptions {
  arg?: string;
  addon?: string;
  env?: Record<string, string>;
}

/** The arguments that make Node run a scenario of addonScenario.mjs. */
export function scenarioArguments(scenario: string, { arg, addon = addonPath() }: ScenarioOptions = {}): string[] {
  const libraries = librariesOf('cpu', thisMachine);
  if (libraries === null) throw new Error('the CPU libraries of node-llama-cpp are not installed');
  return [scenarioPath, addon, libraries.folder, demoPath, scenario, ...(arg === undefined ? [] : [arg])];
}

/** Runs a scenario to its end, or for a minute. */
export function runScenario(scenario: string, options: ScenarioOptions = {}): Promise<ScenarioResult> {
  const env = { ...process.env, ...options.env };
  return new Promise((resolve) => {
    const settings = { env, timeout: 60_000, killSignal: 'SIGKILL' } as const;
    execFile(process.execPath, scenarioArguments(scenario, options), settings, (error, stdout, stderr) => {
      resolve({ exit: error?.signal ?? error?.code ?? 0, output: stdout + stderr });
    });
  });
}

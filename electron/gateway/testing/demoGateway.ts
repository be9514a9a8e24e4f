import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import pino, { type Logger } from 'pino';
import { createGateway, type GatewayOptions } from '../createGateway.ts';
import { servedModels, type WholeModel, wholeModel } from './wholeModel.ts';

export const DEMO_MODEL_ID = 'demo';
export const LOCAL_TOKEN = 'a'.repeat(64);

const demoModelPath = fileURLToPath(new URL('../../../resources/demo/demo.gguf', import.meta.url));

/** A log whose lines are kept. */
export interface KeptLog {
  log: Logger;
  lines: Record<string, unknown>[];
}

export function keptLog(): KeptLog {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { log, lines };
}

export interface RunningGateway {
  app: FastifyInstance;
  /** `http://127.0.0.1:PORT` */
  base: string;
  port: number;
  lines: Record<string, unknown>[];
}

/** A gateway that listens on a free loopback port. */
export async function listen(
  options: Pick<GatewayOptions, 'models'> & Partial<GatewayOptions>,
  host = '127.0.0.1',
): Promise<RunningGateway> {
  const { log, lines } = keptLog();
  const app = createGateway({ localToken: LOCAL_TOKEN, build: '0.0.0', log, ...options });
  await app.listen({ host, port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { app, port, base: `http://127.0.0.1:${port}`, lines };
}

/** The demo model, whole, in this process. */
export function demoModel(): Promise<WholeModel> {
  return wholeModel(demoModelPath, { id: DEMO_MODEL_ID, contextLength: 2048, slots: 4 });
}

/** A gateway that serves the demo model. */
export async function demoGateway(
  options: Partial<GatewayOptions> = {},
): Promise<RunningGateway & { model: WholeModel; close(): Promise<void> }> {
  const model = await demoModel();
  const gateway = await listen({ models: servedModels(model), ...options });
  const close = async (): Promise<void> => {
    await gateway.app.close();
    await model.dispose();
  };
  return { ...gateway, model, close };
}

import type { ServedModels } from '../pipeline/serving/servedModel.ts';
import type { TemplateRenderer } from './template/templateRenderer.ts';

/** What every route of the gateway works with. */
export interface GatewayContext {
  models: ServedModels;
  templates: TemplateRenderer;
  /** Version that the answers carry in `system_fingerprint`. */
  build: string;
  /** A stream without an event for so many ms gets a comment line. */
  keepAliveMs: number;
  /** A generation that fails within so many ms is answered with its status, a later one in the stream. */
  failureGraceMs: number;
}

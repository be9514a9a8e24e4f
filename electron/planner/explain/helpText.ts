import { formatBytes } from '../formatBytes.ts';
import { letInText } from './letIn.ts';
import type { Help } from './shortfall.ts';

/** What would make a model fit, for people, as a sentence. */
export function helpText(help: Help, nameOf: (address: string) => string): string {
  switch (help.kind) {
    case 'AnotherMember':
      return `Another member with a graphics card that shares ${formatBytes(help.memoryBytes)} would do.`;
    case 'MoreMemory':
      return `${nameOf(help.address)} sharing ${formatBytes(help.memoryBytes)} would do.`;
    case 'SmallerContext':
      return `A context of ${help.perRequest} tokens for each request would do.`;
    case 'SmallerKvType':
      return `A KV cache of type ${help.kvType} would do.`;
    case 'SmallerQuant': {
      const size = `${Math.floor(help.fraction * 100)} % of the size`;
      return help.quant === null ? `A quant of ${size} would do.` : `A smaller quant would do: ${help.quant}, ${size}.`;
    }
    case 'LetIn':
      return letInText(help, nameOf);
    case 'PlainRam':
      return 'Allowing plain RAM would do, though it is slow.';
    case 'ForceNothing':
      return 'Leaving the number of members to the planner would do.';
  }
}

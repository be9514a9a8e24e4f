import { Command, InvalidArgumentError } from 'commander';
import type { ApiKey, EndpointAccess, EndpointChange } from '../gateway/memberApi.ts';
import { callMember } from './callMember.ts';
import { wholeNumber } from './demoOptions.ts';
import { homeOf } from './homeOption.ts';
import { asking, type CommonOptions, tell } from './poolCommands.ts';
import { textTable } from './textTable.ts';

/** The commands about who may use the endpoint; each asks the member that runs with the same data folder. */
export function endpointCommands(): Command[] {
  const keys = new Command('keys').description('the keys with which programs of other machines use the endpoint');
  keys.addCommand(
    asking('add', 'make a key, and show it this once')
      .argument('<name>', 'who or what will use it')
      .action(async (name: string, options: CommonOptions) => {
        await tell(options, 'addApiKey', { name }, ({ key }) => `${key}\n\nIt is not shown again.`);
      }),
  );
  keys.addCommand(
    asking('list', 'show the keys, and what was done with each').action(async (options: CommonOptions) => {
      const { keys: all } = await callMember(homeOf(options), 'endpoint', {});
      process.stdout.write(`${options.json ? JSON.stringify(all) : keysText(all)}\n`);
    }),
  );
  keys.addCommand(
    asking('revoke', 'let a key open nothing any more')
      .argument('<key>', 'its name or id')
      .action(async (key: string, options: CommonOptions) => {
        await tell(options, 'revokeApiKey', { key }, ({ name }) => `${name} opens nothing any more.`);
      }),
  );
  return [
    keys,
    asking('lan', 'show or change whether other machines may use the endpoint, over HTTPS and with a key')
      .argument('[choice]', 'on or off', parseChoice)
      .option('--port <port>', 'port for them, 0 for any free one', wholeNumber(0, 65_535))
      .action(async (lan: boolean | undefined, options: CommonOptions & { port?: number }) => {
        await change(options, { lan, port: options.port });
      }),
    asking('origins', 'show or choose the origins whose pages may use the endpoint')
      .argument('[origins...]', 'such as http://localhost:3000; they replace those chosen before')
      .option('--none', 'none but the window')
      .action(async (origins: string[], options: CommonOptions & { none?: boolean }) => {
        await change(options, origins.length > 0 || options.none ? { origins } : {});
      }),
    asking('ca', 'print the certificate of the pool, which other machines need to trust the endpoint').action(
      async (options: CommonOptions) => {
        await tell(options, 'poolCertificate', {}, ({ certificate }) => certificate.trim());
      },
    ),
  ];
}

async function change(options: CommonOptions, wanted: EndpointChange): Promise<void> {
  const isChange = Object.values(wanted).some((value) => value !== undefined);
  if (isChange) await tell(options, 'changeEndpoint', wanted, accessText);
  else await tell(options, 'endpoint', {}, accessText);
}

function parseChoice(text: string): boolean {
  if (text !== 'on' && text !== 'off') throw new InvalidArgumentError('Say on or off.');
  return text === 'on';
}

function accessText({ lan: { wanted, addresses, problem }, origins, keys }: EndpointAccess): string {
  const open = `Other machines use ${addresses.join(', ')}, with one of ${keys.length} keys and the certificate of \`roomful ca\`.`;
  const state = addresses.length > 0 ? open : wanted ? 'Other machines cannot use it now.' : 'For this machine alone.';
  const pages = origins.length === 0 ? [] : [`Pages of ${origins.join(', ')} may use it.`];
  return [state, ...(problem === null ? [] : [problem]), ...pages].join('\n');
}

function keysText(keys: readonly ApiKey[]): string {
  if (keys.length === 0) return 'There are no keys; `roomful keys add NAME` makes one.';
  const rows = keys.map(({ id, name, hint, requests, promptTokens, completionTokens, lastUsedMs }) => {
    const used = lastUsedMs === null ? 'never' : new Date(lastUsedMs).toISOString();
    return [name, id, `...${hint}`, String(requests), String(promptTokens), String(completionTokens), used];
  });
  return textTable(['key', 'id', 'ends in', 'requests', 'prompt tokens', 'answer tokens', 'last used'], rows);
}

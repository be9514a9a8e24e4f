import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { ApiKeys } from '../gateway/access/apiKeys.ts';
import { type EndpointParts, endpointAccess } from '../gateway/access/endpointActions.ts';
import { LanEndpoint } from '../gateway/access/lanEndpoint.ts';
import { RequestLog } from '../gateway/access/requestLog.ts';
import type { AccessRules } from '../gateway/http/accessRules.ts';
import type { EndpointAccess } from '../gateway/memberApi.ts';
import { derivedTopic } from '../gateway/window/derivedTopic.ts';
import type { TopicSource } from '../gateway/window/memberState.ts';
import type { PoolMember } from '../pool/poolMember.ts';
import type { TlsMaterial } from '../wire/tlsMaterial.ts';
import { Changes } from './changes.ts';
import type { Ground } from './startGround.ts';

export interface Endpoint extends EndpointParts {
  readonly topic: TopicSource<EndpointAccess>;
}

/** Opens the endpoint to other machines where the owner has chosen that, and keeps it open as the pool changes. */
export async function startEndpoint(
  { home, changes: poolChanges, closers, warn }: Ground,
  pool: PoolMember,
  createServer: (
    lan: { tls: TlsMaterial; keys: ApiKeys },
    shared: { rules: AccessRules; requests: RequestLog },
  ) => FastifyInstance,
): Promise<Endpoint> {
  const { trust } = pool;
  const changes = new Changes();
  const onChange = (): void => changes.tell();
  const keys = await ApiKeys.open(join(home, 'api-keys.json'), { onChange, onProblem: warn('usage was not kept') });
  const requests = new RequestLog(onChange);
  const lan = await LanEndpoint.open({
    path: join(home, 'endpoint.json'),
    pool: {
      isIn: () => trust.pool !== null,
      hosts: () => pool.hosts(),
      listenHost: () => pool.listenHost,
      certifyHosts: (hosts) => trust.certifyHosts(hosts),
      tls: () => trust.tls,
    },
    createServer: (tls, rules) => createServer({ tls, keys }, { rules, requests }),
    onChange,
    onProblem: warn('the endpoint was not opened to other machines'),
  });
  closers.add(
    () => keys.close(),
    () => lan.close(),
  );
  const refresh = (): void => void lan.refresh().catch(warn('the endpoint was not opened to other machines'));
  poolChanges.on(refresh);
  trust.onChange(refresh);
  refresh();
  const parts = { keys, lan, requests, caCertificate: () => (trust.pool === null ? null : trust.tls.ca) };
  return {
    ...parts,
    topic: derivedTopic(
      () => endpointAccess(parts),
      (listener) => changes.on(listener),
    ),
  };
}

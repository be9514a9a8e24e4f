import { X509Certificate } from 'node:crypto';
import { GatewayError } from '../gatewayError.ts';
import type { EndpointAccess } from '../memberApi.ts';
import type { MemberActions } from '../window/memberState.ts';
import type { ApiKeys } from './apiKeys.ts';
import type { LanEndpoint } from './lanEndpoint.ts';
import type { RequestLog } from './requestLog.ts';

export type EndpointMethod = 'endpoint' | 'changeEndpoint' | 'addApiKey' | 'revokeApiKey' | 'poolCertificate';

export interface EndpointParts {
  keys: ApiKeys;
  lan: LanEndpoint;
  requests: RequestLog;
  /** PEM; null in no pool. */
  caCertificate: () => string | null;
}

/** What the contract's methods about the endpoint do. */
export function endpointActions(parts: EndpointParts): Pick<MemberActions, EndpointMethod> {
  const { keys, lan, caCertificate } = parts;
  return {
    endpoint: async () => endpointAccess(parts),
    changeEndpoint: async (change) => {
      await lan.change(change);
      return endpointAccess(parts);
    },
    addApiKey: ({ name }) => keys.add(name),
    revokeApiKey: ({ key }) => keys.revoke(key),
    poolCertificate: async () => {
      const certificate = caCertificate();
      if (certificate !== null) return { certificate, fingerprint: new X509Certificate(certificate).fingerprint256 };
      throw new GatewayError('This machine is in no pool. Create one, or join with an invite token.', { status: 409 });
    },
  };
}

/** Who may use the endpoint now, and who has. */
export function endpointAccess({ keys, lan, requests }: Omit<EndpointParts, 'caCertificate'>): EndpointAccess {
  return { ...lan.access, keys: keys.list(), recent: requests.recent };
}

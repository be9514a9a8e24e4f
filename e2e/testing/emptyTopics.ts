import type { EndpointAccess, LibraryState } from '../../electron/gateway/memberApi.ts';

/** A member without a model. */
export const emptyLibrary: LibraryState = {
  models: [],
  elsewhere: [],
  folders: [],
  skipped: [],
  hasDemoModel: false,
  downloads: [],
};

/** An endpoint for this machine alone, which nobody has used yet. */
export const closedEndpoint: EndpointAccess = {
  lan: { wanted: false, port: 8443, addresses: [], problem: null },
  origins: [],
  keys: [],
  recent: [],
};

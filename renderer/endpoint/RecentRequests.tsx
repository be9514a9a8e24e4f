import type { RecentRequest } from '../../electron/gateway/memberApi.ts';
import { formatMs } from '../controls/formatMs.ts';

/** What was asked here lately, and how it went. */
export function RecentRequests({ requests }: { requests: readonly RecentRequest[] }) {
  return (
    <section className="card endpoint" aria-label="Recent requests">
      <h2>Recent requests</h2>
      {requests.length === 0 ? (
        <p>None since this member started. What was said in them is never kept.</p>
      ) : (
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Path</th>
              <th scope="col">Model</th>
              <th scope="col">From</th>
              <th scope="col">Answer</th>
              <th scope="col">Took</th>
            </tr>
          </thead>
          <tbody>
            {requests.map(({ id, atMs, path, model, from, status, ms }) => (
              <tr key={id}>
                <td>{new Date(atMs).toLocaleTimeString()}</td>
                <td>
                  <code>{path}</code>
                </td>
                <td title={model ?? undefined}>{model ?? '–'}</td>
                <td>{from === 'loopback' ? 'this machine' : 'the network'}</td>
                <td data-tone={status !== null && status < 400 ? 'good' : 'problem'}>{status ?? 'left'}</td>
                <td>{formatMs(ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

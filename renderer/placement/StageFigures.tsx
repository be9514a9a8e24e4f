import { formatBytes } from '../../electron/planner/formatBytes.ts';
import { formatMs } from '../controls/formatMs.ts';
import type { LiveHop, LiveRoom } from './liveRoom.ts';

/** The times of the picture as a table, with what has no room in it. */
export function StageFigures({ room: { members, hops } }: { room: LiveRoom }) {
  const names = new Map(members.map(({ id, name }) => [id, name]));
  const nameOf = (id: string) => names.get(id) ?? id;
  const wayName = ({ from, to, carries }: LiveHop) =>
    `${nameOf(from)} → ${nameOf(to)}${carries === 'tokens' ? ', tokens' : ''}`;
  return (
    <details className="stage-figures">
      <summary>Times of one token</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">Where</th>
            <th scope="col">Measured</th>
            <th scope="col">Predicted</th>
            <th scope="col">Waiting for its turn</th>
            <th scope="col">Sent</th>
          </tr>
        </thead>
        <tbody>
          {members.flatMap(({ id, name, stage }) =>
            stage?.pace == null ? [] : [<Row key={id} where={name} {...stage.pace} waits={stage.pace.queueMs} />],
          )}
          {hops.flatMap((hop) =>
            hop.pace === null
              ? []
              : [
                  <Row
                    key={`${hop.carries} ${hop.from} ${hop.to}`}
                    where={wayName(hop)}
                    {...hop.pace}
                    sent={hop.bytes}
                  />,
                ],
          )}
        </tbody>
      </table>
    </details>
  );
}

interface RowProps {
  where: string;
  measuredMs: number | null;
  predictedMs: number;
  waits?: number;
  sent?: number;
}

function Row({ where, measuredMs, predictedMs, waits, sent = 0 }: RowProps) {
  return (
    <tr>
      <th scope="row">{where}</th>
      <td>{measuredMs === null ? '–' : formatMs(measuredMs)}</td>
      <td>{formatMs(predictedMs)}</td>
      <td>{waits === undefined ? '' : formatMs(waits)}</td>
      <td>{sent === 0 ? '' : formatBytes(sent)}</td>
    </tr>
  );
}

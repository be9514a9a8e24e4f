import type { ServingPipeline } from '../../electron/gateway/memberApi.ts';
import { formatBytes } from '../../electron/planner/formatBytes.ts';
import { formatRate } from '../controls/formatMs.ts';
import { useMember } from '../member/memberStore.ts';
import { bandsOf } from './bandsOf.ts';
import { Hop } from './Hop.tsx';
import { StageCard } from './StageCard.tsx';
import './Placement.css';

/** Where the layers of every serving model lie, and how often activations travel. */
export function Placement() {
  const pipelines = useMember((store) => store.member?.pipelines ?? none);
  const serving = pipelines.filter(({ state }) => state === 'serving' || state === 'draining');
  return serving.map((pipeline) => <PipelinePicture key={pipeline.id} pipeline={pipeline} />);
}

const none: ServingPipeline[] = [];

function PipelinePicture({ pipeline }: { pipeline: ServingPipeline }) {
  const { modelId, placement, hops, lastTokensPerSecond } = pipeline;
  const bands = bandsOf(placement);
  const bytes = placement.reduce((sum, stage) => sum + stage.bytes, 0);
  return (
    <section className="card placement" aria-label={`Placement of ${modelId}`}>
      <h2>{modelId}</h2>
      <dl className="facts">
        <Fact name="Members" value={String(placement.length)} />
        <Fact name={hops === 1 ? 'Hop' : 'Hops'} value={String(hops)} />
        <Fact name="Memory" value={formatBytes(bytes)} />
        <Fact name="Tokens / s" value={lastTokensPerSecond === null ? '–' : formatRate(lastTokensPerSecond)} />
      </dl>
      <ol className="stages">
        {bands.map((band, index) => (
          <li key={band.startLayer}>
            {index > 0 && <Hop number={index} offset={band.offset} />}
            <StageCard band={band} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

import { useEffect, useMemo, useRef, useState } from 'react';
import type { ServingPipeline } from '../../electron/gateway/memberApi.ts';
import { formatBytes } from '../../electron/planner/formatBytes.ts';
import { useChat } from '../chat/chat.ts';
import { formatRate } from '../controls/formatMs.ts';
import { useMember } from '../member/memberStore.ts';
import { Life } from '../serving/Life.tsx';
import { SmallPlot } from '../serving/SmallPlot.tsx';
import { type Sample, useServing } from '../serving/servingStore.ts';
import { bandsOf } from './bandsOf.ts';
import { Hop } from './Hop.tsx';
import { StageCard } from './StageCard.tsx';
import './Placement.css';
import '../serving/Serving.css';

/** Where the layers of every serving model lie, and how often activations travel. */
export function Placement() {
  const pipelines = useMember((store) => store.member?.pipelines ?? none);
  const shown = pipelines.filter(({ state }) => state !== 'stopped');
  return shown.map((pipeline) => <PipelinePicture key={pipeline.id} pipeline={pipeline} />);
}

const none: ServingPipeline[] = [];
const FLOWS_MS = 2_500;

/** Whether tokens travel: this window waits for an answer, or one has just ended elsewhere. */
function useFlow({ modelId, state, lastTokensPerSecond }: ServingPipeline): boolean {
  const [recent, setRecent] = useState(false);
  const before = useRef(lastTokensPerSecond);
  useEffect(() => {
    if (before.current === lastTokensPerSecond) return;
    before.current = lastTokensPerSecond;
    setRecent(true);
    const timer = setTimeout(() => setRecent(false), FLOWS_MS);
    return () => clearTimeout(timer);
  }, [lastTokensPerSecond]);
  const asked = useChat((store) => store.running?.model === modelId);
  return state === 'serving' && (recent || asked);
}

function PipelinePicture({ pipeline }: { pipeline: ServingPipeline }) {
  const { modelId, placement, hops, lastTokensPerSecond, figures } = pipeline;
  const bands = bandsOf(placement);
  const bytes = placement.reduce((sum, stage) => sum + stage.bytes, 0);
  const samples = useServing((store) => store.samples[pipeline.id]);
  const flows = useFlow(pipeline);
  return (
    <section className="card placement" aria-label={`Placement of ${modelId}`}>
      <h2>{modelId}</h2>
      {pipeline.state !== 'serving' && <Life pipeline={pipeline} />}
      <div className="placement-head">
        <dl className="facts">
          <Fact name="Members" value={String(placement.length)} />
          <Fact name={hops === 1 ? 'Hop' : 'Hops'} value={String(hops)} />
          <Fact name="Memory" value={formatBytes(bytes)} />
          <Fact name="Tokens / s" value={lastTokensPerSecond === null ? '–' : formatRate(lastTokensPerSecond)} />
          {figures !== null && (
            <>
              <Fact name="Predicted" value={formatRate(figures.predictedTokensPerSecond.one)} />
              <Fact name="Running" value={String(figures.running)} />
              <Fact name="Waiting" value={String(figures.queue)} />
              {figures.acceptance !== null && <Fact name="Drafts accepted" value={percent(figures.acceptance)} />}
            </>
          )}
        </dl>
        {samples !== undefined && samples.length > 1 && <Plots samples={samples} />}
      </div>
      <ol className="stages" data-flows={flows}>
        {bands.map((band, index) => (
          <li key={band.startLayer}>
            {index > 0 && <Hop number={index} offset={band.offset} figures={figures?.hops[index - 1] ?? null} />}
            <StageCard band={band} figures={figures?.stages[index] ?? null} />
          </li>
        ))}
      </ol>
    </section>
  );
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

function Plots({ samples }: { samples: readonly Sample[] }) {
  const plotted = useMemo(
    () => ({
      rates: samples.map(({ tokensPerSecond }) => tokensPerSecond),
      queues: samples.map(({ queue }) => queue),
      accepted: samples.map(({ acceptance }) => acceptance),
    }),
    [samples],
  );
  const last = samples.at(-1);
  if (last === undefined) return null;
  return (
    <div className="small-plots">
      <SmallPlot name="Tokens / s" values={plotted.rates} now={formatRate(last.tokensPerSecond)} />
      <SmallPlot name="Queue" values={plotted.queues} most={4} now={String(last.queue)} />
      {last.acceptance !== null && (
        <SmallPlot name="Accepted" values={plotted.accepted} now={percent(last.acceptance)} />
      )}
    </div>
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

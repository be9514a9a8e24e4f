import { formatBytes } from '../../../electron/planner/formatBytes.ts';
import { kvTypes } from '../../../electron/planner/planOptions.ts';
import { RangeField } from '../../controls/RangeField.tsx';
import { Segments } from '../../controls/Segments.tsx';
import { useMember } from '../../member/memberStore.ts';
import { ask, endGesture, useAsked } from '../playgroundStore.ts';
import { knownModels } from '../scenario/knownModels.ts';
import { exactChoice } from '../scenario/libraryShapes.ts';
import { type ModelChoice, modelName } from '../scenario/modelChoice.ts';

const OWN = 'own';
const contexts = [1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072];
const kvNames = { f16: 'f16', q8_0: 'q8_0, half' } as const;

/** Which model, and how long and how many its requests are. */
export function ModelPanel() {
  const { model, context, slots, kvType } = useAsked('model', 'context', 'slots', 'kvType');
  const nearest = contexts.findIndex((tokens) => tokens >= context);
  return (
    <section className="panel-section" aria-label="Model">
      <h2>Model</h2>
      <label className="field">
        <span className="field-head">What to serve</span>
        <select
          className="select"
          value={choiceValue(model)}
          onChange={(event) => void choiceOf(event.target.value, model).then((chosen) => ask({ model: chosen }))}
        >
          <LibraryOptions model={model} />
          <optgroup label="Known models">
            {knownModels.map(({ id, shape }) => (
              <option key={id} value={id}>
                {shape.name}
              </option>
            ))}
          </optgroup>
          <option value={OWN}>A shape of your own …</option>
        </select>
      </label>
      {model.kind === 'own' && <OwnShape model={model} />}
      <RangeField
        label="Context of a request"
        value={nearest === -1 ? contexts.length - 1 : nearest}
        min={0}
        max={contexts.length - 1}
        step={1}
        text={`${context.toLocaleString('en')} tokens`}
        onChange={(index) => ask({ context: contexts[index] ?? context }, 'context')}
        onSettled={endGesture}
      />
      <RangeField
        label="Requests at once"
        value={slots}
        min={1}
        max={32}
        step={1}
        text={String(slots)}
        onChange={(value) => ask({ slots: value }, 'slots')}
        onSettled={endGesture}
      />
      <Segments
        label="KV cache"
        value={kvType}
        choices={kvTypes.map((value) => ({ value, name: kvNames[value] }))}
        onChange={(value) => ask({ kvType: value })}
      />
    </section>
  );
}

function OwnShape({ model }: { model: Extract<ModelChoice, { kind: 'own' }> }) {
  const change = (changes: Partial<typeof model>, gesture: string) => ask({ model: { ...model, ...changes } }, gesture);
  return (
    <>
      <RangeField
        label="Layers"
        value={model.layers}
        min={1}
        max={160}
        step={1}
        text={String(model.layers)}
        onChange={(layers) => change({ layers }, 'layers')}
        onSettled={endGesture}
      />
      <RangeField
        label="Hidden size"
        value={model.hiddenSize}
        min={512}
        max={16_384}
        step={256}
        text={model.hiddenSize.toLocaleString('en')}
        onChange={(hiddenSize) => change({ hiddenSize }, 'hidden size')}
        onSettled={endGesture}
      />
      <RangeField
        label="Size of the file"
        value={model.weightBytes / 1e9}
        min={1}
        max={400}
        step={1}
        text={formatBytes(model.weightBytes).replace('.0 ', ' ')}
        onChange={(gigabytes) => change({ weightBytes: gigabytes * 1e9 }, 'size')}
        onSettled={endGesture}
      />
    </>
  );
}

const standard: ModelChoice = { kind: 'own', layers: 80, hiddenSize: 8192, weightBytes: 42e9 };

function choiceValue(model: ModelChoice): string {
  if (model.kind === 'own') return OWN;
  return model.kind === 'known' ? model.id : `library ${model.id}`;
}

async function choiceOf(value: string, present: ModelChoice): Promise<ModelChoice> {
  if (value === choiceValue(present)) return present;
  if (value === OWN) return standard;
  const held = useMember.getState().library?.models.find(({ id }) => value === `library ${id}`);
  return held === undefined ? { kind: 'known', id: value } : exactChoice(held);
}

/** The models of this machine, and the one that is planned for where it is none of them. */
function LibraryOptions({ model }: { model: ModelChoice }) {
  const models = useMember((store) => store.library?.models);
  const foreign = model.kind === 'library' && !models?.some(({ id }) => id === model.id);
  return (
    <>
      {foreign && <option value={choiceValue(model)}>{modelName(model)}</option>}
      {models !== undefined && models.length > 0 && (
        <optgroup label="On this machine">
          {models.map(({ id, name }) => (
            <option key={id} value={`library ${id}`}>
              {name}
            </option>
          ))}
        </optgroup>
      )}
    </>
  );
}

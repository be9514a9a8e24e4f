import { RangeField } from '../controls/RangeField.tsx';
import { chat, useChat } from './chat.ts';

/** What the model is told first, and how it chooses its words. Null leaves a value to the gateway. */
export function ChatSettingsPanel() {
  const { system, temperature, topP, maxTokens, seed } = useChat((store) => store.shown.settings);
  return (
    <section className="card chat-settings" aria-label="Settings of this chat">
      <label className="field chat-system">
        <span className="field-head">System prompt</span>
        <textarea
          className="text-input"
          rows={3}
          defaultValue={system}
          placeholder="What the model is told before your first question"
          onBlur={(event) => void chat.changeSettings({ system: event.target.value })}
        />
      </label>
      <RangeField
        label="Temperature"
        value={temperature ?? -0.05}
        min={-0.05}
        max={2}
        step={0.05}
        text={temperature === null ? 'as the model' : temperature.toFixed(2)}
        hint="0 answers the same each time."
        onChange={(value) => void chat.changeSettings({ temperature: value < 0 ? null : value })}
      />
      <RangeField
        label="Top p"
        value={topP ?? 1.05}
        min={0.05}
        max={1.05}
        step={0.05}
        text={topP === null ? 'as the model' : topP.toFixed(2)}
        hint="Lower leaves out unlikely words."
        onChange={(value) => void chat.changeSettings({ topP: value > 1 ? null : value })}
      />
      <NumberField
        label="Longest answer"
        placeholder="as long as fits"
        least={1}
        value={maxTokens}
        onChange={(value) => void chat.changeSettings({ maxTokens: value })}
      />
      <NumberField
        label="Seed"
        placeholder="another each time"
        least={0}
        value={seed}
        onChange={(value) => void chat.changeSettings({ seed: value })}
      />
    </section>
  );
}

interface NumberFieldProps {
  label: string;
  placeholder: string;
  least: number;
  value: number | null;
  onChange: (value: number | null) => void;
}

function NumberField({ label, placeholder, least, value, onChange }: NumberFieldProps) {
  return (
    <label className="field">
      <span className="field-head">{label}</span>
      <input
        className="text-input"
        inputMode="numeric"
        placeholder={placeholder}
        defaultValue={value ?? ''}
        onBlur={(event) => {
          const number = Number(event.target.value);
          const whole = event.target.value.trim() !== '' && Number.isSafeInteger(number) && number >= least;
          if (!whole) event.target.value = '';
          onChange(whole ? Math.min(number, 10_000_000) : null);
        }}
      />
    </label>
  );
}

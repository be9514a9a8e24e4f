import type { Ref } from 'react';
import { Icon, type IconName } from './Icon.tsx';

interface IconButtonProps {
  icon: IconName;
  /** What it does: its name for screen readers, and its tooltip. */
  label: string;
  disabled?: boolean;
  ref?: Ref<HTMLButtonElement>;
  onClick: () => void;
}

export function IconButton({ icon, label, disabled = false, ref, onClick }: IconButtonProps) {
  return (
    <button
      type="button"
      ref={ref}
      className="icon-button"
      aria-label={label}
      title={label}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}

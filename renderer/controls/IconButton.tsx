import { Icon, type IconName } from './Icon.tsx';

interface IconButtonProps {
  icon: IconName;
  /** What it does: its name for screen readers, and its tooltip. */
  label: string;
  disabled?: boolean;
  onClick: () => void;
}

export function IconButton({ icon, label, disabled = false, onClick }: IconButtonProps) {
  return (
    <button
      type="button"
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

import { useTexts } from '../i18n/language.ts';
import { Field } from './field.tsx';

/** A choice of one value or of all. */
export function Filter<Value extends string>({
  label,
  value,
  options,
  isRequired = false,
  onChange,
}: {
  readonly label: string;
  readonly value: Value | undefined;
  readonly options: readonly (readonly [Value, string])[];
  /** Whether one value must be chosen. */
  readonly isRequired?: boolean;
  readonly onChange: (value: Value | undefined) => void;
}) {
  const t = useTexts();
  return (
    <Field label={label}>
      {(props) => (
        <select
          {...props}
          value={value ?? ''}
          onChange={({ currentTarget }) =>
            onChange(options.find(([one]) => one === currentTarget.value)?.[0])
          }
        >
          {!isRequired && <option value="">{t.common.all}</option>}
          {options.map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

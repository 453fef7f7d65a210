import { describe, expect, test } from 'vitest';
import { requireRetryable } from '../../src/features/webhook-deliveries/rules.ts';

describe('a delivery', () => {
  test.each(['retrying', 'gave_up'])('that is %s can be retried', (status) => {
    expect(() => requireRetryable(status)).not.toThrow();
  });

  test.each(['pending', 'ok', ''])('that is "%s" cannot be retried', (status) => {
    expect(() => requireRetryable(status)).toThrow(
      expect.objectContaining({
        code: 'validation_error',
        fields: expect.objectContaining({ field: 'delivery_id' }),
      }),
    );
  });
});

/**
 * The dimensions that an evaluation scores, in alphabetical order. Each has a sum and a count in
 * `analytics_person`.
 */
export const DIMENSIONS = [
  'closing',
  'conversation_control',
  'needs_analysis',
  'objection_handling',
  'value_argument',
] as const;

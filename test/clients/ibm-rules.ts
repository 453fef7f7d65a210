/** The rules of IBM's API handbook that do not fit this API, each with the reason. */
const SPECIFIED = 'The specification of the API says so.';
const OWN_STYLE = 'A choice of style that IBM made differently.';

export const IBM_RULES_OFF: Readonly<Record<string, string>> = {
  'ibm-operationid-casing-convention': `${OWN_STYLE} camelCase is a valid name in every language.`,
  'ibm-operationid-naming-convention': `${OWN_STYLE} The resource comes first: \`membersList\`.`,
  'ibm-enum-casing-convention': `${SPECIFIED} Scopes (\`users:read\`) and events have marks.`,
  'ibm-path-segment-casing-convention': `${SPECIFIED} \`/webhook-endpoints\``,
  'ibm-error-content-type-is-json': `${SPECIFIED} Problems are application/problem+json.`,
  'ibm-error-response-schemas': `${SPECIFIED} The fields are those of RFC 9457.`,
  'ibm-response-status-codes': `${SPECIFIED} Invalid input is 422.`,
  'ibm-pagination-style': `${SPECIFIED} \`cursor\`, \`data\` and \`next_cursor\``,
  'ibm-collection-array-property': `${SPECIFIED} Every list is in \`data\`.`,
  'ibm-schema-naming-convention': `${SPECIFIED} The objects have the names of the specification.`,
  'ibm-patch-request-content-type': `${SPECIFIED} Bodies are application/json.`,
  'ibm-no-nullable-properties': `${SPECIFIED} Fields without a value are null.`,
  'ibm-required-array-properties-in-response': `${SPECIFIED} \`errors\` is only in some problems.`,
  'ibm-well-defined-dictionaries': `${SPECIFIED} \`fields\` and \`external_ref\` are free-form.`,
  'ibm-use-date-based-format': `${SPECIFIED} \`close_date\` is text, as the CRM gave it.`,
  'ibm-no-unsupported-keywords': 'It refuses `webhooks`, which OpenAPI 3.1 has for events.',
  'ibm-schema-keywords': 'It refuses `const`, which OpenAPI 3.1 has.',
  'ibm-schema-type-format': 'It refuses the formats `uri` and `uri-reference` of JSON Schema.',
  'ibm-string-attributes': 'Only the service bounds texts: a client must not refuse longer ones.',
  'ibm-array-attributes': 'Only the service bounds lists: a client must not refuse longer ones.',
  'ibm-integer-attributes': 'Bounds are told where there are some; each integer has its format.',
  'ibm-avoid-inline-schemas': 'What occurs once is described where it occurs, for readers.',
  'ibm-no-ambiguous-paths': 'Ids have a prefix: `/assignments/batch` is no id of an assignment.',
  'ibm-avoid-repeating-path-parameters': 'Each operation is complete, for tools that read one.',
};

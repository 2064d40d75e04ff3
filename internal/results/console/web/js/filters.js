// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// The filters of results: in addresses, in CEL, in selectors, and as a command.

import { every, literal, queryOf } from './api.js';
import { outcomes, problems, severities } from './terms.js';

/** Text filters: the parameter, its name for people, the field of the API. */
export const texts = [
  { name: 'subject', label: 'Name', field: 'subject.name' },
  { name: 'kind', label: 'Kind', field: 'subject.kind' },
  { name: 'policy', label: 'Policy', field: 'policy' },
  { name: 'rule', label: 'Rule', field: 'rule' },
  { name: 'category', label: 'Category', field: 'category' },
  { name: 'source', label: 'Source', field: 'source' },
];

/** The fields that results can be ordered by. */
const orders = ['result', 'severity', 'subject.name', 'policy', 'source', 'timestamp'];

/**
 * @typedef {Object} Filters
 * @property {string[]} results
 * @property {string[]} severities
 * @property {Record<string, string>} texts
 * @property {string} message a part of it
 * @property {string} sort the field that results are ordered by, "" for the worst first
 * @property {boolean} desc
 */

/**
 * @param {URLSearchParams} params
 * @returns {Filters} no results or severities stand for all
 */
export function filtersOf(params) {
  const chosen = params.getAll('result');
  return {
    results: chosen.includes('all') ? [] : chosen.length ? chosen : problems,
    severities: params.getAll('severity').map((s) => (s === 'none' ? '' : s)),
    texts: Object.fromEntries(texts.map(({ name }) => [name, params.get(name) ?? ''])),
    message: params.get('message') ?? '', sort: orders.find((field) => field === params.get('sort')) ?? '', desc: params.has('desc'),
  };
}

/**
 * @param {string} field
 * @param {string[]} values
 */
export const oneOf = (field, values) => (values.length ? `${field} in [${values.map(literal).join(', ')}]` : '');

/** @param {Filters} filters @returns {string} CEL */
export function expression(filters) {
  return every([
    oneOf('result', filters.results), oneOf('severity', filters.severities),
    ...texts.filter(({ name }) => filters.texts[name]).map(({ name, field }) => `${field} == ${literal(filters.texts[name])}`),
    filters.message && `message.contains(${literal(filters.message)})`,
  ]);
}

/** @param {string} value @returns {string} as field selectors want it */
const escaped = (value) => value.replace(/[\\,=]/g, '\\$&');

/** @param {Record<string, string>} fields @returns {string} */
export const fieldSelector = (fields) => Object.entries(fields).map(([field, value]) => `${field}=${escaped(value)}`).join(',');

/** @param {Filters} filters @returns {Record<string, string>} */
export function textFields(filters) {
  return Object.fromEntries(texts.filter(({ name }) => filters.texts[name]).map(({ name, field }) => [field, filters.texts[name]]));
}

/**
 * A condition on a label. Results without the field don't have the label.
 * @param {string} label
 * @param {string[]} chosen
 * @param {string[]} all
 */
function labelSelector(label, chosen, all) {
  const key = `results.docket.dev/${label}`;
  if (!chosen.length) return '';
  if (!chosen.includes('')) return chosen.length === 1 ? `${key}=${chosen[0]}` : `${key} in (${chosen.join(',')})`;
  if (chosen.length === 1) return `!${key}`;
  const others = all.filter((value) => !chosen.includes(value));
  return others.length ? `${key} notin (${others.join(',')})` : '';
}

/** @param {string} word @returns {string} for a shell */
export const quoted = (word) => (/^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/**
 * The words of the command that lists results.
 * @param {string[]} kubectl the first words
 * @param {import('./router.js').Scope} scope
 */
function listing(kubectl, scope) {
  if (scope.outside) return [...kubectl, 'get', 'clusterpolicyresults'];
  if (scope.namespace) return [...kubectl, 'get', 'policyresults', '-n', scope.namespace];
  return [...kubectl, 'get', 'policyresults,clusterpolicyresults', '-A'];
}

/**
 * The command that shows the same.
 * @param {string[]} kubectl the first words
 * @param {import('./router.js').Scope} scope
 * @param {Filters} filters
 */
export function command(kubectl, scope, filters) {
  if (filters.sort || filters.message) return question(kubectl, scope, { filter: expression(filters), results: { orderBy: filters.sort || 'severity', descending: filters.desc } });
  const words = listing(kubectl, scope);
  const labels = [labelSelector('result', filters.results, outcomes), labelSelector('severity', filters.severities, severities)].filter(Boolean);
  if (labels.length) words.push('-l', labels.join(','));
  const fields = fieldSelector(textFields(filters));
  if (fields) words.push('--field-selector', fields);
  return words.map(quoted).join(' ');
}

/** The order of the page where no column is sorted. */
const ranks = (column, values) => `CASE ${column} ${values.map((value, i) => `WHEN '${value}' THEN ${i}`).join(' ')} ELSE ${values.length} END`;
const worstInSQL = ` ORDER BY ${ranks('result', outcomes)}, ${ranks('severity', severities.filter(Boolean))}`;

const sqlLiteral = (text) => `'${text.replaceAll("'", "''")}'`;
const sqlOneOf = (column, values) => (values.length ? `${column} IN (${values.map(sqlLiteral).join(', ')})` : '');

/**
 * The query that finds the same in the database, which has more than one cluster perhaps.
 * @param {import('./router.js').Scope} scope
 * @param {Filters} filters
 * @param {string} [cluster] "" where it is not known
 */
export function sql(scope, filters, cluster = '') {
  const conditions = [
    cluster && `cluster = ${sqlLiteral(cluster)}`,
    (scope.namespace || scope.outside) && `namespace = ${sqlLiteral(scope.namespace)}`,
    sqlOneOf('result', filters.results), sqlOneOf('severity', filters.severities),
    ...texts.filter(({ name }) => filters.texts[name]).map(({ name, field }) => `${field.replace('.', '_')} = ${sqlLiteral(filters.texts[name])}`),
    filters.message && `message LIKE ${sqlLiteral(`%${filters.message.replace(/[\\%_]/g, '\\$&')}%`)} ESCAPE '\\'`,
  ].filter(Boolean);
  return `SELECT * FROM policy_results${conditions.length ? ` WHERE ${conditions.join(' AND ')}` : ''}${filters.sort ? ` ORDER BY ${filters.sort.replace('report.', '').replace('.', '_')}${filters.desc ? ' DESC' : ''}` : worstInSQL} LIMIT 100`;
}

/**
 * The command that asks the same question.
 * @param {string[]} kubectl
 * @param {import('./router.js').Scope} scope
 * @param {Record<string, any>} spec
 */
export function question(kubectl, scope, spec) {
  return `echo ${quoted(JSON.stringify(queryOf(scope, spec)))} | ${[...kubectl, 'create', '--validate=false', '-f', '-'].map(quoted).join(' ')}`;
}

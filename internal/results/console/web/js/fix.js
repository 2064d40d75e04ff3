// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// What to fix first: failures that say the same, together, the most severe first.

import { ask, askBriefly, every, literal, longer } from './api.js';
import { most } from './counts.js';
import { count, folded, h } from './dom.js';
import { oneOf } from './filters.js';
import { heading, inScope, link, part, resourceLink } from './pieces.js';
import { severityBadge, worse } from './terms.js';

const failing = 'result == "fail"';
const pageSize = 50;
/** What failures have in common that are one finding. */
const same = ['severity', 'source', 'policy', 'message'];
/** Resources that are shown of a finding. */
const resources = 20;
/** Properties in which producers say what to do; `docket results why` knows the same. */
const remedies = ['remediation', 'remediations', 'resolution', 'fixedVersion', 'solution', 'howToFix'];

/**
 * @typedef {{by: Record<string, string>, results: number}} Finding
 */

/**
 * The first findings: of the most severe failures those that most results have, then of the next severity.
 * @param {import('./router.js').Scope} scope
 * @param {number} limit
 * @param {AbortSignal} signal
 * @returns {Promise<{findings: Finding[], more: boolean}|null>} null if there is no answer soon
 */
export async function worstFindings(scope, limit, signal) {
  const { groups } = await ask(scope, { filter: failing, groupBy: ['severity'], limit: 100 }, signal);
  const findings = [];
  for (const { by } of [...groups].sort((a, b) => worse(a.by, b.by))) {
    if (findings.length === limit) return { findings, more: true };
    const answer = await askBriefly(scope, {
      filter: every([failing, `severity == ${literal(by.severity ?? '')}`]), groupBy: same, orderBy: 'results', descending: true, limit: limit - findings.length,
    }, signal, longer);
    if (!answer) return findings.length ? { findings, more: true } : null;
    findings.push(...answer.groups);
    if (answer.more) return { findings, more: true };
  }
  return { findings, more: false };
}

/** @param {import('./pieces.js').Context} context */
export async function fix(context) {
  return [
    heading('Fix first', `Failures ${inScope(context.scope)}, those that say the same together, the most severe first`),
    await part(context, () => findings(context, pageSize, (more) => `The first ${count(more)}.`)),
  ];
}

/**
 * The first findings, each of which unfolds.
 * @param {import('./pieces.js').Context} context
 * @param {number} limit
 * @param {(shown: number) => any} rest what is said below them if there are more
 */
export async function findings(context, limit, rest) {
  const answer = await worstFindings(context.scope, limit, context.signal);
  if (!answer) return [h('p', { class: 'nothing' }, 'There are too many failures to put them together at once. Choose a namespace.')];
  if (!answer.findings.length) return [h('p', { class: 'nothing' }, 'Nothing fails.')];
  const rows = answer.findings.map((finding) => ({ finding, reach: h('span', { class: 'reach waiting' }, plural(finding.results, 'result')) }));
  const counted = countReach(context, rows);
  if (context.patient) await counted;
  return [h('ol', { class: 'findings' }, rows.map((row) => h('li', {}, one(context, row)))), answer.more ? h('p', { class: 'more' }, rest(rows.length)) : null];
}

const plural = (n, what) => `${count(n)} ${what}${n === 1 ? '' : 's'}`;

/** Says in how many resources findings are. That takes longer than to find them: it needs the names of all. */
async function countReach({ scope, signal }, rows) {
  const key = (by) => JSON.stringify(same.map((name) => by[name] ?? ''));
  const policies = [...new Set(rows.map(({ finding }) => finding.by.policy ?? ''))];
  const answer = await askBriefly(scope, {
    filter: every([failing, oneOf('policy', policies)]), groupBy: same, aggregates: ['subjects', 'namespaces'], orderBy: 'results', descending: true, limit: most,
  }, signal, longer).catch(() => null);
  const reached = new Map(answer?.groups.map((group) => [key(group.by), group]));
  for (const { finding, reach } of rows) {
    const { subjects, namespaces } = reached.get(key(finding.by)) ?? {};
    const spaces = scope.namespace || scope.outside ? '' : ` in ${plural(namespaces, 'namespace')}`;
    reach.classList.remove('waiting');
    if (subjects) reach.replaceChildren(`${plural(subjects, 'resource')}${spaces}`);
  }
}

function one(context, { finding: { by }, reach }) {
  const inside = h('div', { class: 'inside' });
  let read = false;
  const unfold = async ({ target }) => {
    if (!target.open || read) return;
    read = true;
    inside.replaceChildren(h('p', { class: 'muted' }, 'Reading \u2026'));
    try {
      inside.replaceChildren(...await details(context, by));
    } catch (error) {
      read = false;
      inside.replaceChildren(h('p', { class: 'said' }, error.message));
    }
  };
  return h('details', { class: 'finding', ontoggle: unfold }, h('summary', {}, severityBadge(by.severity ?? ''),
    h('span', { class: 'what' }, h('strong', { class: 'label' }, by.policy || 'no policy'), h('span', { class: 'clamped' }, by.message || 'no message')), reach), inside);
}

/** The texts of a group's message around the names of resources, for which placeholders stand in it. */
const around = (message) => message.split(/\{(?:name|namespace|uid)\}/).filter((text) => text.trim());

/**
 * The condition that results have the message of a group.
 * @param {string} message
 */
export function says(message) {
  const parts = around(message);
  return parts.length === 1 && parts[0] === message || !parts.length ? `message == ${literal(message)}` : every(parts.map((text) => `message.contains(${literal(text)})`));
}

/** What a finding unfolds to: what to do, and which resources have it. */
async function details(context, by) {
  const { scope, signal } = context;
  const filter = every([failing, ...['severity', 'source', 'policy'].map((name) => `${name} == ${literal(by[name] ?? '')}`), says(by.message ?? '')]);
  const [of, example] = await Promise.all([
    askBriefly(scope, { filter, groupBy: ['subject.kind', 'subject.namespace', 'subject.name'], orderBy: 'results', descending: true, limit: resources }, signal, longer),
    askBriefly(scope, { filter, results: { orderBy: 'timestamp', descending: true, limit: 1 } }, signal, longer),
  ]);
  const newest = example?.results[0];
  const longest = around(by.message ?? '').sort((a, b) => b.length - a.length)[0] ?? '';
  const todo = Object.entries(newest?.properties ?? {}).filter(([name]) => remedies.includes(name));
  const facts = [['source', by.source], ['category', newest?.category], ...todo].filter(([, value]) => value);
  return [
    h('dl', {}, facts.map(([name, value]) => [h('dt', {}, name), h('dd', {}, folded(value))]), h('dt', {}, 'message'), h('dd', {}, folded(by.message || 'no message'))),
    of ? h('ul', { class: 'resources' }, of.groups.map((g) => h('li', {}, resourceLink(context, g.by)))) : h('p', { class: 'more' }, 'There are too many resources to list them at once.'),
    of?.more ? h('p', { class: 'more' }, `The first ${count(of.groups.length)} resources.`) : null,
    h('p', {}, h('a', { href: link(context, 'policy', { policy: by.policy, source: by.source }) }, 'The policy'), ' \u00b7 ',
      h('a', { href: link(context, 'results', { result: 'fail', policy: by.policy, source: by.source, message: longest }) }, 'All of these results')),
  ].filter(Boolean);
}

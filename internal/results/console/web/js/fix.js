// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// What to fix first: failures that say the same, together, the most severe first.

import { ask, askBriefly, every, literal } from './api.js';
import { count, folded, h } from './dom.js';
import { heading, inScope, link, resourceLink } from './pieces.js';
import { severityBadge, worse } from './terms.js';

const failing = 'result == "fail"';
const pageSize = 50;
/** Resources that are shown of a finding. */
const resources = 20;
/** Properties in which producers say what to do; `docket results why` knows the same. */
const remedies = ['remediation', 'remediations', 'resolution', 'fixedVersion', 'solution', 'howToFix'];

/**
 * @typedef {{by: Record<string, string>, results: number, subjects: number, namespaces: number}} Finding
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
      filter: every([failing, `severity == ${literal(by.severity ?? '')}`]), groupBy: ['severity', 'source', 'policy', 'message'], aggregates: ['subjects', 'namespaces'],
      orderBy: 'results', descending: true, limit: limit - findings.length,
    }, signal);
    if (!answer) return findings.length ? { findings, more: true } : null;
    findings.push(...answer.groups);
    if (answer.more) return { findings, more: true };
  }
  return { findings, more: false };
}

/** @param {import('./pieces.js').Context} context */
export async function fix(context) {
  const answer = await worstFindings(context.scope, pageSize, context.signal);
  const title = heading('Fix first', `Failures ${inScope(context.scope)}, those that say the same together, the most severe first`);
  if (!answer) return [title, tooMany()];
  return [title, findingList(context, answer.findings), answer.more ? h('p', { class: 'more' }, `The first ${count(answer.findings.length)}.`) : null];
}

/** What is shown where there is no answer soon. */
export const tooMany = () => h('p', { class: 'nothing' }, 'There are too many failures to put them together at once. Choose a namespace.');

/**
 * Findings, each of which unfolds.
 * @param {import('./pieces.js').Context} context
 * @param {Finding[]} findings
 */
export function findingList(context, findings) {
  if (!findings.length) return h('p', { class: 'nothing' }, 'Nothing fails.');
  return h('ol', { class: 'findings' }, findings.map((finding) => h('li', {}, one(context, finding))));
}

function one(context, { by, results, subjects, namespaces }) {
  const spaces = context.scope.namespace || context.scope.outside ? '' : ` in ${count(namespaces)} ${namespaces === 1 ? 'namespace' : 'namespaces'}`;
  const reach = subjects ? `${count(subjects)} ${subjects === 1 ? 'resource' : 'resources'}${spaces}` : `${count(results)} ${results === 1 ? 'result' : 'results'}`;
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
    h('span', { class: 'what' }, h('strong', { class: 'label' }, by.policy || 'no policy'), h('span', { class: 'clamped' }, by.message || 'no message')), h('span', { class: 'reach' }, reach)), inside);
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
    ask(scope, { filter, groupBy: ['subject.kind', 'subject.namespace', 'subject.name'], orderBy: 'results', descending: true, limit: resources }, signal),
    ask(scope, { filter, results: { orderBy: 'timestamp', descending: true, limit: 1 } }, signal),
  ]);
  const [newest] = example.results;
  const longest = around(by.message ?? '').sort((a, b) => b.length - a.length)[0] ?? '';
  const todo = Object.entries(newest?.properties ?? {}).filter(([name]) => remedies.includes(name));
  const facts = [['source', by.source], ['category', newest?.category], ...todo].filter(([, value]) => value);
  return [
    h('dl', {}, facts.map(([name, value]) => [h('dt', {}, name), h('dd', {}, folded(value))]), h('dt', {}, 'message'), h('dd', {}, folded(by.message || 'no message'))),
    h('ul', { class: 'resources' }, of.groups.map((g) => h('li', {}, resourceLink(context, g.by)))),
    of.more ? h('p', { class: 'more' }, `The first ${count(of.groups.length)} resources.`) : null,
    h('p', {}, h('a', { href: link(context, 'policy', { policy: by.policy, source: by.source }) }, 'The policy'), ' \u00b7 ',
      h('a', { href: link(context, 'results', { result: 'fail', policy: by.policy, source: by.source, message: longest }) }, 'All of these results')),
  ].filter(Boolean);
}

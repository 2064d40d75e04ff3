// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import "strings"

// settings are names of the server's settings, each followed by its value.
type settings []string

// planSettings make index scans and nested loops, which are right for all statements here, and do not depend on
// statistics, which are missing after a bulk load. Generic plans save planning, which would cost more than execution.
func planSettings() settings {
	return settings{
		"jit", "off", "plan_cache_mode", "force_generic_plan", "enable_seqscan", "off",
		"enable_bitmapscan", "off", "enable_hashjoin", "off", "enable_mergejoin", "off",
		"idle_in_transaction_session_timeout", "5s",
	}
}

// readerSettings are for connections that only read; transaction_read_only is not among them.
func readerSettings() settings {
	return append(planSettings(), "statement_timeout", "60s")
}

// questionSettings are those of questions about results, whose statements are as many as there are filters: a generic
// plan would be used once.
func questionSettings() settings {
	return append(fixedPlans.settings(), "jit", "off", "plan_cache_mode", "force_custom_plan",
		"statement_timeout", "30s", "idle_in_transaction_session_timeout", "5s")
}

// settings returns those that statements of questions differ in.
func (p planning) settings() settings {
	tables, bitmaps, workers := "off", "off", "0"
	switch p {
	case fixedPlans:
	case bitmapPlans:
		bitmaps = "on"
	case countPlans:
		tables, bitmaps = "on", "on"
	case freePlans:
		tables, bitmaps, workers = "on", "on", "2"
	}
	return settings{
		"enable_seqscan", tables, "enable_hashjoin", tables, "enable_mergejoin", tables, "enable_bitmapscan", bitmaps,
		"max_parallel_workers_per_gather", workers,
	}
}

// writerSettings are those of what writes. One that hangs holds the counter, and with it all other writers.
func writerSettings(synchronousCommit string) settings {
	if synchronousCommit == "" {
		synchronousCommit = "on"
	}
	return append(planSettings(), tallySetting, tallyKept, "lock_timeout", "5s", "statement_timeout", "10s", "synchronous_commit", synchronousCommit)
}

// ownSession adds what only makes sense for a session that nobody else has. The server looks early whether its client
// still lives: timeouts don't run while it waits for the end of a commit.
func (s settings) ownSession() settings {
	return append(s, "default_transaction_isolation", "read committed",
		"tcp_keepalives_idle", "10", "tcp_keepalives_interval", "3", "tcp_keepalives_count", "3")
}

// statement sets all of them for the session. Why not startup parameters: poolers refuse those that they don't know.
func (s settings) statement() string {
	var sql strings.Builder
	for i := 0; i < len(s); i += 2 {
		sql.WriteString("SET " + s[i] + " = '" + s[i+1] + "'; ")
	}
	return sql.String()
}

// columns returns names and values.
func (s settings) columns() (names, values []string) {
	for i := 0; i < len(s); i += 2 {
		names, values = append(names, s[i]), append(values, s[i+1])
	}
	return names, values
}

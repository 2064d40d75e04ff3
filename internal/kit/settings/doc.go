// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package settings gives every flag of a command two more sources under the same
// name: an environment variable and a key of a YAML file.
//
// A flag on the command line wins over the environment, the environment over
// the file, the file over the default:
//
//	--watch-history=2h
//	DOCKET_WATCH_HISTORY=2h
//	watch-history: 2h          # in the file that --config names
//
// A file holds one flat map. A list there sets a flag several times, a map sets
// a key=value flag once for each key. An environment variable that is empty
// counts as absent, since templates tend to leave empty ones behind.
//
// Other variables that begin with DOCKET_ are ignored: Kubernetes makes some of
// them (DOCKET_SERVICE_HOST, DOCKET_PORT_443_TCP …) where a Service is called docket.
// No flag may therefore be called "port" or begin with "port-" or "service-".
package settings

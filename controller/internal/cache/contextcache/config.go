// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"cmp"
	"errors"
	"net/netip"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy/call"
)

// The defaults of [Config].
const (
	DefaultMaxStale    = 5 * time.Minute
	DefaultCallTimeout = call.DefaultTimeout
	DefaultMaxResponse = call.DefaultMaxResponse
)

// Config is what a [Cache] works with. Client, REST, Served and Engine are required. A [Static]
// uses only Engine and the limits of calls.
type Config struct {
	// Client lists and watches.
	Client dynamic.Interface
	// REST calls paths of the cluster's own API.
	REST rest.Interface
	// Served knows what the API serves. The caller runs it.
	Served *served.Watcher
	// Engine evaluates expressions.
	Engine *table.Engine
	// MemoryLimit is how many bytes all data may take; 0 is no limit.
	MemoryLimit int64
	// MaxStale is how long data are served after they were known to be right; 0 is
	// [DefaultMaxStale].
	MaxStale time.Duration
	// CallTimeout and MaxResponse limit a call; 0 is [DefaultCallTimeout], [DefaultMaxResponse].
	CallTimeout time.Duration
	MaxResponse int64
	// AllowRanges are addresses that calls may go to although they are blocked by default;
	// BlockRanges may not be called, and win.
	AllowRanges, BlockRanges []netip.Prefix
	// Metrics may be nil: then the cache uses the metrics of the process. See [RegisterMetrics].
	Metrics *Metrics
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

func (c *Config) complete() error {
	switch {
	case c.Client == nil || c.REST == nil:
		return errors.New("context cache: Config.Client and Config.REST are required")
	case c.Served == nil || c.Engine == nil:
		return errors.New("context cache: Config.Served and Config.Engine are required")
	case c.MemoryLimit < 0:
		return errors.New("--context-cache-memory: is negative; 0 is no limit")
	case c.MaxStale < 0 || c.CallTimeout < 0 || c.MaxResponse < 0:
		return errors.New("context cache: a time or size of Config is negative; 0 is the default")
	}
	c.MaxStale = cmp.Or(c.MaxStale, DefaultMaxStale)
	c.Metrics = cmp.Or(c.Metrics, ofProcess)
	c.Clock = cmp.Or[clock.WithTicker](c.Clock, clock.RealClock{})
	return nil
}

// calls returns what calls have in common.
func (c *Config) calls() call.Config {
	return call.Config{REST: c.REST, Timeout: c.CallTimeout, MaxResponse: c.MaxResponse, Allow: c.AllowRanges, Block: c.BlockRanges}
}

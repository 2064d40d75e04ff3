// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/pflag"

	cliflag "k8s.io/component-base/cli/flag"

	"github.com/docket-project/docket/internal/kit/logs"
	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/server/apiserver"
)

// DefaultListen is the same at each start, so that kubeconfigs stay good.
const DefaultListen = "127.0.0.1:7443"

// DefaultConsoleListen is any free port: the console is opened by a link that is printed.
const DefaultConsoleListen = "127.0.0.1:0"

// Limits on memory, of which a server with many clients would need more.
const (
	ringBytes  = 8 << 20
	cacheBytes = 16 << 20
)

// watchGrace is how long the end of a process waits for watches. Clients notice
// at once; one person at one machine waits for nothing else.
const watchGrace = time.Second

// databaseCache is the memory for pages of the database in the state folder: a
// quarter of what a server gets.
const databaseCache = "cache_bytes=16777216"

// garbagePercent makes the collector run twice as often as by default: on a personal
// machine, memory is worth more than the little time it takes.
const garbagePercent = 50

// connectTimeout is how long to wait for a database that doesn't answer.
const connectTimeout = 20 * time.Second

// Options of `docket up`.
type Options struct {
	// Dir is the state folder.
	Dir string
	// Listen is the host:port of the API.
	Listen string
	// AllowNonLoopback confirms that other machines may be able to reach it.
	AllowNonLoopback bool
	// Demo loads made-up reports.
	Demo bool
	// ConsoleListen is the host:port of the console on this machine; empty for none.
	ConsoleListen string
	// NewConsole returns a console with the rights of a kubeconfig that is reached by the hosts, and shows the objects of
	// the mappings in files, too; nil for none.
	NewConsole func(kubeconfig string, mappings, hosts []string) (Console, error)

	server *apiserver.Options
}

// NewOptions returns the defaults.
func NewOptions() (*Options, error) {
	dir, err := statedir.DefaultDir("docket")
	server := apiserver.NewLocalOptions()
	server.Storage.WatchRingBytes = ringBytes
	server.Storage.CacheBytes = cacheBytes
	server.Storage.ConnectTimeout = connectTimeout
	server.Server.ShutdownWatchTerminationGracePeriod = watchGrace
	return &Options{Dir: dir, Listen: DefaultListen, ConsoleListen: DefaultConsoleListen, server: server}, err
}

// Flags returns the flags by section.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	up := sections.FlagSet("up")
	up.StringVar(&o.Dir, "dir", o.Dir, "Folder for the database, certificates, token and kubeconfig. Only its owner can open it.")
	// The same on every machine, so that documentation can show it.
	up.Lookup("dir").DefValue = "docket in $XDG_DATA_HOME, or ~/.docket"
	up.StringVar(&o.Listen, "listen", o.Listen, "Address of the API as host:port. Port 0 takes any free port.")
	up.BoolVar(&o.AllowNonLoopback, "allow-non-loopback", o.AllowNonLoopback,
		"Confirm that --listen may be an address that other machines reach.")
	up.StringVar(&o.ConsoleListen, "console-listen", o.ConsoleListen,
		"Address of the console, which shows results in a browser, as host:port on this machine. Port 0 takes any free port; empty for no console. Reports in etcd have none.")
	up.BoolVar(&o.Demo, "demo", o.Demo, fmt.Sprintf("Load %d reports of an imaginary cluster to look at.", demoReports))

	own, library := o.server.Flags(), o.server.LibraryFlags()
	reports := sections.FlagSet("reports")
	reports.AddFlagSet(own.FlagSet("reports"))
	if database := reports.Lookup("database"); database != nil {
		database.Usage = "Database for the reports; " + statedir.DatabaseFile + " in --dir when empty. Several machines can share one PostgreSQL: postgres://user@host:port/name."
	}
	// Of the server's many other flags, only these make sense for one person on one machine.
	server := sections.FlagSet("server")
	for _, name := range []string{"feature-gates", "max-request-bytes", "request-timeout", "profiling"} {
		server.AddFlag(cmp.Or(find(&own, name), find(&library, name)))
	}
	sections.FlagSet("logs").AddFlagSet(own.FlagSet("logs"))
	return sections
}

func find(sections *cliflag.NamedFlagSets, name string) *pflag.Flag {
	for _, section := range sections.FlagSets {
		if flag := section.Lookup(name); flag != nil {
			return flag
		}
	}
	return nil
}

// ApplyProcess applies what is global to the process: log format and feature
// gates.
func (o *Options) ApplyProcess() error {
	if err := o.server.ApplyProcess(); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	logs.OnlyErrors(o.server.Logs)
	return nil
}

// Validate derives the options that depend on others, and returns all
// errors, each with its flag and a remedy.
func (o *Options) Validate() error {
	var errs []error
	if o.Dir == "" {
		errs = append(errs, errors.New("--dir: is required"))
	}
	if o.server.Storage.Cluster == apiserver.ClusterAuto {
		errs = append(errs, fmt.Errorf("--cluster: %q needs a cluster; give a name", apiserver.ClusterAuto))
	}
	if o.server.Storage.Database == "" {
		path, err := filepath.Abs(filepath.Join(o.Dir, statedir.DatabaseFile))
		if err != nil {
			errs = append(errs, fmt.Errorf("--dir: %w", err))
		}
		o.server.Storage.Database = (&url.URL{Scheme: "sqlite", Path: filepath.ToSlash(path), RawQuery: databaseCache}).String()
	}
	return errors.Join(append(errs, o.server.Validate()...)...)
}

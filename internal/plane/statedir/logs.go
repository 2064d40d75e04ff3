// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package statedir

import (
	"flag"
	"fmt"

	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
)

// QuietLogs keeps everything but errors out of a log that a person reads on a terminal: what
// they need to know is printed, and the libraries' warnings are for cluster administrators.
// -v=1 and other formats show everything.
func QuietLogs(config *logsapi.LoggingConfiguration) error {
	if config.Format != logsapi.DefaultLogFormat || config.Verbosity > 0 {
		return nil
	}
	// The logger of the text format writes everything; klog itself has a threshold.
	klog.ClearLogger()
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "ERROR", "legacy_stderr_threshold_behavior": "false",
	} {
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("quiet the log: %w", err)
		}
	}
	klog.SetOutput(nothing{})
	return nil
}

// nothing is where lines below the threshold go.
type nothing struct{}

func (nothing) Write(p []byte) (int, error) { return len(p), nil }

// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/go-logr/logr"

	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
)

// ownPrefix is the prefix of this repository's functions.
const ownPrefix = "github.com/docket-project/docket/"

// OnlyOwn leaves out of the log what libraries tell of their work, but not their warnings and
// errors: the log of a server that does nothing special is short. -v=1 and other formats show all.
// It is called when the log is set up.
func OnlyOwn(config *logsapi.LoggingConfiguration) {
	tells := &atomic.Bool{}
	tells.Store(true)
	filter(config, "WEF", tells)
}

// OnlyErrors is for a log that a person reads on a terminal, whom the program itself tells what there is to know. It
// leaves out all except errors and, after the first of them, what our own packages tell, such as that all is well.
func OnlyErrors(config *logsapi.LoggingConfiguration) { filter(config, "EF", &atomic.Bool{}) }

// filter passes on lines without structure of some severities, of which we write none, errors, and the information of
// our own packages while tells is true.
func filter(config *logsapi.LoggingConfiguration, severities string, tells *atomic.Bool) {
	if config.Format != logsapi.DefaultLogFormat || config.Verbosity > 0 {
		return
	}
	sink := klog.Background().GetSink()
	writer, ok := sink.(interface{ WriteKlogBuffer(data []byte) })
	if !ok {
		return // Not the text format's.
	}
	klog.SetLoggerWithOptions(logr.New(ownSink{sink, tells}), klog.ContextualLogger(true), klog.WriteKlogBuffer(func(data []byte) {
		if len(data) == 0 || strings.IndexByte(severities, data[0]) >= 0 {
			writer.WriteKlogBuffer(data)
		}
	}))
}

// ownSink passes on errors, and the information of our own packages while tells is true, as it is after an error.
type ownSink struct {
	logr.LogSink

	tells *atomic.Bool
}

// Init implements logr.LogSink. There is one call more between who logs and the next sink.
func (s ownSink) Init(info logr.RuntimeInfo) {
	info.CallDepth++
	s.LogSink.Init(info)
}

// Info implements logr.LogSink.
func (s ownSink) Info(level int, msg string, values ...any) {
	if s.tells.Load() && isOwn() {
		s.LogSink.Info(level, msg, values...)
	}
}

// Error implements logr.LogSink.
func (s ownSink) Error(err error, msg string, values ...any) {
	s.tells.Store(true)
	s.LogSink.Error(err, msg, values...)
}

// WithValues implements logr.LogSink.
func (s ownSink) WithValues(values ...any) logr.LogSink {
	return ownSink{s.LogSink.WithValues(values...), s.tells}
}

// WithName implements logr.LogSink.
func (s ownSink) WithName(name string) logr.LogSink {
	return ownSink{s.LogSink.WithName(name), s.tells}
}

// WithCallDepth implements logr.CallDepthLogSink.
func (s ownSink) WithCallDepth(depth int) logr.LogSink {
	if deep, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		return ownSink{deep.WithCallDepth(depth), s.tells}
	}
	return s
}

// isOwn reports whether who logs is in one of our packages.
func isOwn() bool {
	const most, self = 16, 3 // Without Callers, isOwn and Info.
	var callers [most]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(self, callers[:])])
	for {
		frame, more := frames.Next()
		if !isLogging(frame.Function) {
			return strings.HasPrefix(frame.Function, ownPrefix)
		}
		if !more {
			return false
		}
	}
}

func isLogging(function string) bool {
	for _, prefix := range []string{"k8s.io/klog/v2.", "github.com/go-logr/logr.", ownPrefix + "internal/kit/logs.ownSink"} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}

// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
	"k8s.io/utils/clock"
)

const (
	terminalInterval = 100 * time.Millisecond
	plainInterval    = 5 * time.Second

	barWidth = 24
)

// Bar counts the finished parts of one piece of work. All methods are safe for
// concurrent use. The nil Bar counts and shows nothing.
type Bar struct {
	label    string
	total    int64
	terminal bool
	interval time.Duration
	clock    clock.PassiveClock
	started  time.Time

	mu    sync.Mutex // guards the fields below and writes to out
	out   io.Writer
	count int64
	shown time.Time // when the line was written last
	width int       // of the line on the terminal, to be overwritten
	done  bool
}

// New returns a bar for total parts (0 if unknown) that writes to w: a line that
// redraws itself if w is a terminal, else a whole line at most every five seconds.
// Work that is done sooner writes only the line at its end.
// Errors of w are ignored: progress is not worth failing for.
func New(w io.Writer, total int64, label string) *Bar {
	file, ok := w.(*os.File)
	return newBar(w, total, label, ok && term.IsTerminal(int(file.Fd())), clock.RealClock{})
}

func newBar(w io.Writer, total int64, label string, terminal bool, c clock.PassiveClock) *Bar {
	b := &Bar{
		label: label, total: total, out: w, terminal: terminal,
		interval: plainInterval, clock: c, started: c.Now(),
	}
	b.shown = b.started
	if terminal {
		b.interval = terminalInterval
	}
	return b
}

// Add counts n more finished parts.
func (b *Bar) Add(n int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count += n
	if now := b.clock.Now(); !b.done && now.Sub(b.shown) >= b.interval {
		b.show(now)
	}
}

// Count returns how many parts are finished.
func (b *Bar) Count() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count
}

// Done writes the last line, whatever share of the work is finished. Further calls
// do nothing, so that it can be deferred.
func (b *Bar) Done() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return
	}
	b.done = true
	b.show(b.clock.Now())
	if b.terminal {
		_, _ = io.WriteString(b.out, "\n")
	}
}

func (b *Bar) show(now time.Time) {
	b.shown = now
	line := b.line(now.Sub(b.started))
	if !b.terminal {
		_, _ = io.WriteString(b.out, line+"\n")
		return
	}
	padding := strings.Repeat(" ", max(0, b.width-len(line)))
	b.width = len(line)
	_, _ = io.WriteString(b.out, "\r"+line+padding)
}

// line is, say, "create  [=====>    ]  4200/10000  42%  840/s  7s left".
func (b *Bar) line(elapsed time.Duration) string {
	parts := []string{b.label}
	share := 0.0
	if b.total > 0 {
		total := max(b.total, b.count) // There may be more to do than there was at the start.
		share = float64(b.count) / float64(total)
		if b.terminal {
			parts = append(parts, drawn(share))
		}
		parts = append(parts, fmt.Sprintf("%d/%d  %d%%", b.count, total, int(100*share)))
	} else {
		parts = append(parts, fmt.Sprint(b.count))
	}
	quick := b.done && rounded(elapsed) == 0
	if elapsed > 0 && !quick {
		parts = append(parts, fmt.Sprintf("%.0f/s", float64(b.count)/elapsed.Seconds()))
	}
	switch {
	case quick: // Neither a rate nor a time says anything.
	case b.done:
		parts = append(parts, "in "+rounded(elapsed).String())
	case share > 0:
		left := time.Duration(float64(elapsed) * (1 - share) / share)
		parts = append(parts, rounded(left).String()+" left")
	}
	return strings.Join(parts, "  ")
}

func drawn(share float64) string {
	full := int(share * barWidth)
	head := ">"
	if full == barWidth {
		head = ""
	}
	bar := strings.Repeat("=", full) + head
	return "[" + bar + strings.Repeat(" ", barWidth-len(bar)) + "]"
}

func rounded(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"container/list"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// defaultBodyMemory is the default of [Config.BodyMemory]. Objects take several times their JSON.
	defaultBodyMemory = 32 << 20
	// bodyTime is how long a body may take to arrive; kube-apiserver sends it at once.
	bodyTime = 3 * time.Second
	// slowAfter is the time after which a body that is still arriving may be dropped if others need its memory.
	slowAfter = 200 * time.Millisecond
	// maxReading bounds the bodies that arrive at the same time, maxReadingPeer those from one address.
	maxReading, maxReadingPeer = 2048, 512
	// firstRead is the first buffer of a body, in bytes; most bodies need at most twice that.
	firstRead = 4 << 10
)

var (
	errSlowBody = errors.New("the body came too slowly")
	errGivesWay = errors.New("the body came so slowly that others took its room")
	errNoMemory = errors.New("the bodies of other requests take all memory that they may")
)

// intake accounts for the bodies of requests. Their total size is bounded, from the first byte that arrives to the
// end of the evaluation. A body that arrives slowly is dropped if others need its memory, so that a slow client
// harms only itself.
type intake struct {
	limit int64

	mu   sync.Mutex
	used int64
	// reading are the bodies that are arriving, oldest first; peers counts them by address.
	reading *list.List
	peers   map[string]int
	// freed is closed when memory is released.
	freed chan struct{}
}

func newIntake(limit int64) *intake {
	return &intake{limit: limit, reading: list.New(), peers: map[string]int{}, freed: make(chan struct{})}
}

// body is the body of one request.
type body struct {
	intake *intake
	peer   string
	begin  time.Time
	data   []byte
	// interrupt ends a blocked read; nil if there is no connection.
	interrupt func()

	// The intake's mutex guards what follows. at is nil once the body is read.
	at    *list.Element
	taken int64
	cut   bool
}

// read returns the body of a request, which the caller must release. It takes memory only as the body arrives,
// whatever the length in the header.
func (in *intake) read(to http.ResponseWriter, r *http.Request, deadline time.Time) (*body, *problem) {
	if r.ContentLength > maxBody {
		return nil, malformed(http.StatusRequestEntityTooLarge, fmt.Errorf("the body has %d bytes; at most %d are read", r.ContentLength, maxBody))
	}
	control := http.NewResponseController(to)
	b := &body{intake: in, begin: time.Now(), peer: peerOf(r)}
	if control.SetReadDeadline(deadline) == nil { // Tests have no connection.
		b.interrupt = func() { _ = control.SetReadDeadline(time.Unix(1, 0)) }
	}
	in.begin(b)
	err := b.fill(http.MaxBytesReader(to, r.Body, maxBody), r.ContentLength, deadline)
	cut := in.end(b)
	if err == nil && !cut && b.interrupt != nil {
		err = control.SetReadDeadline(time.Time{}) // The server keeps reading to notice when the client goes away.
	}
	if trouble := bodyProblem(err, cut, len(b.data)); trouble != nil {
		b.release()
		return nil, trouble
	}
	return b, nil
}

// bodyProblem returns what is wrong with a body; nil if nothing is.
func bodyProblem(err error, cut bool, length int) *problem {
	tooLarge, timeout := &http.MaxBytesError{}, net.Error(nil)
	switch {
	case cut:
		return &problem{http.StatusRequestTimeout, refusedSlow, errGivesWay}
	case errors.As(err, &tooLarge):
		return malformed(http.StatusRequestEntityTooLarge, fmt.Errorf("the body has more than %d bytes", maxBody))
	case errors.Is(err, errNoMemory):
		return &problem{http.StatusServiceUnavailable, refusedOverload, fmt.Errorf("%w; add replicas", err)}
	case errors.As(err, &timeout) && timeout.Timeout():
		return &problem{http.StatusRequestTimeout, refusedSlow, errSlowBody}
	case err != nil:
		return malformed(http.StatusBadRequest, fmt.Errorf("read the body: %w", err))
	case length == 0:
		return malformed(http.StatusBadRequest, errors.New("the body is empty"))
	}
	return nil
}

// peerOf returns the address that a request comes from, without the port.
func peerOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// begin adds a body that begins to arrive. If there are too many, the oldest one is dropped.
func (in *intake) begin(b *body) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.peers[b.peer] >= maxReadingPeer:
		in.cutOldest(func(other *body) bool { return other.peer == b.peer })
	case in.reading.Len() >= maxReading:
		in.cutOldest(func(*body) bool { return true })
	}
	in.peers[b.peer]++
	b.at = in.reading.PushBack(b)
}

// end is called when no more is read of a body. It reports whether the body was dropped.
func (in *intake) end(b *body) (cut bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.forget(b)
	return b.cut
}

// forget is called with the mutex.
func (in *intake) forget(b *body) {
	if b.at == nil {
		return
	}
	in.reading.Remove(b.at)
	b.at = nil
	if in.peers[b.peer]--; in.peers[b.peer] == 0 {
		delete(in.peers, b.peer)
	}
}

// cutOldest is called with the mutex. It drops the oldest body for which may returns true.
func (in *intake) cutOldest(may func(*body) bool) {
	for at := in.reading.Front(); at != nil; at = at.Next() {
		if b := at.Value.(*body); may(b) {
			b.cut = true
			in.forget(b)
			if b.interrupt != nil {
				b.interrupt()
			}
			in.wake()
			return
		}
	}
}

// wake is called with the mutex.
func (in *intake) wake() {
	close(in.freed)
	in.freed = make(chan struct{})
}

// fill reads to the end. The buffer is never larger than what is accounted for.
func (b *body) fill(from io.Reader, length int64, deadline time.Time) error {
	for {
		if len(b.data) == cap(b.data) {
			if err := b.grow(length, deadline); err != nil {
				return err
			}
		}
		n, err := from.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// grow doubles the buffer, up to the length, which is negative if it is not known.
func (b *body) grow(length int64, deadline time.Time) error {
	size := min(max(firstRead, 2*int64(cap(b.data))), maxBody+1)
	if length >= 0 && length < size {
		size = max(length, int64(len(b.data))) + 1 // One byte more for the read that finds the end.
	}
	if err := b.intake.take(b, size-b.taken, deadline); err != nil {
		return err
	}
	b.data = append(make([]byte, 0, size), b.data...)
	return nil
}

// take takes n bytes of memory for a body. It waits for them until the deadline.
func (in *intake) take(b *body, n int64, deadline time.Time) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		freed, err := in.tryTake(b, n)
		if freed == nil {
			return err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return errNoMemory
		}
		timer.Reset(min(left, slowAfter))
		select {
		case <-freed:
		case <-timer.C:
		}
	}
}

// tryTake takes n bytes if there are as many. Otherwise it returns the channel to wait for.
func (in *intake) tryTake(b *body, n int64) (freed <-chan struct{}, _ error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if b.cut {
		return nil, errGivesWay
	}
	if in.used+n <= in.limit {
		in.used += n
		b.taken += n
		return nil, nil
	}
	freed = in.freed
	in.cutOldest(func(other *body) bool { return other != b && other.taken > 0 && time.Since(other.begin) > slowAfter })
	return freed, nil
}

// release returns the memory of a body.
func (b *body) release() {
	b.intake.mu.Lock()
	defer b.intake.mu.Unlock()
	b.intake.used -= b.taken
	b.taken, b.data = 0, nil
	b.intake.wake()
}

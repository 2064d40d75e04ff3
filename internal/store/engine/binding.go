// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
)

// DefaultCluster is the share of a database that is used by those who name none.
const DefaultCluster = "default"

// ErrBound says that the share of the database belongs to another Kubernetes cluster, or it is not known to which.
var ErrBound = errors.New("the share of the database is not this cluster's")

// Binding ties the share of a cluster in a database to the Kubernetes cluster that uses it,
// at the first use: two clusters that were given one name would delete each other's
// objects. The zero Binding ties nothing and checks nothing.
type Binding struct {
	// UID of the cluster: that of its namespace kube-system. "" if there is none.
	UID string
	// Auto takes the share that is bound to UID, whatever its name, or makes one.
	Auto bool
	// Adopt names a share to bind to UID, whatever it was bound to. "" for none.
	Adopt string
}

// Share is a cluster's row in a database.
type Share struct {
	ID int64
	// Name of the cluster, and UID that it is bound to, "" for none.
	Name, UID string
}

// Choose returns the share to use of those that a database has, nil if it is to be made, and whether it has to be
// bound. alone says that nobody else can use the database: then its only share is taken over if it is bound to nobody.
func (b Binding) Choose(shares []Share, name string, alone bool) (share *Share, bind bool, err error) {
	switch {
	case b.UID == "":
		return named(shares, name), false, nil
	case b.Adopt != "":
		if share = named(shares, b.Adopt); share == nil {
			return nil, false, fmt.Errorf("%w: it has no cluster %q to adopt", ErrMissing, b.Adopt)
		}
		return share, share.UID != b.UID, nil
	case b.Auto:
		return b.chooseByUID(shares, alone)
	}
	return b.check(named(shares, name))
}

func (b Binding) chooseByUID(shares []Share, alone bool) (*Share, bool, error) {
	if share := named(shares, b.UID); share != nil {
		return b.check(share)
	}
	for i := range shares {
		if shares[i].UID == b.UID {
			return &shares[i], false, nil
		}
	}
	unbound := named(shares, DefaultCluster)
	switch {
	case unbound == nil || unbound.UID != "":
		return nil, false, nil
	case alone && len(shares) == 1:
		return unbound, true, nil
	}
	return nil, false, fmt.Errorf("%w: it is not known whose the reports of cluster %q in this database are; "+
		"start the server of the cluster that they belong to with --adopt-cluster=%s once (DOCKET_ADOPT_CLUSTER)", ErrBound, DefaultCluster, DefaultCluster)
}

// check binds a share that is bound to nobody, and refuses one that is bound to another cluster. The share may be nil.
func (b Binding) check(share *Share) (*Share, bool, error) {
	if share == nil || share.UID == "" || share.UID == b.UID {
		return share, share != nil && share.UID == "", nil
	}
	return nil, false, fmt.Errorf("%w: cluster %q in this database belongs to the cluster whose kube-system has the UID %s, and this one has %s; "+
		"use --cluster=auto or another name, or, if this cluster takes the place of that one, start with --adopt-cluster=%s once (DOCKET_ADOPT_CLUSTER)",
		ErrBound, share.Name, share.UID, b.UID, share.Name)
}

func named(shares []Share, name string) *Share {
	for i := range shares {
		if shares[i].Name == name {
			return &shares[i]
		}
	}
	return nil
}

"""Machines without a hypervisor: systemd on an overlay of one root file system, in namespaces with a cgroup.

An emulator says what a machine is (:class:`machines.spec.MachineSpec`) and which networks there are
(:mod:`machines.network`); this package makes it so, takes over what an earlier process left running, lists it, and
removes all of it by name. It knows none of the emulators.
"""

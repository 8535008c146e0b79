"""Running firmware: QEMU sessions, the emulator's build, and the serial link's host side."""
